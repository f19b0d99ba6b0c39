const MOST_CHARACTERS = 100

/**
 * The first characters of a value of a file, for the report about a refused row. They are a text of their own: a part of a
 * text keeps all of it in memory, and a value may have megabytes.
 */
export function beginningOf(value: string): string {
  return Buffer.from(value.slice(0, MOST_CHARACTERS)).toString()
}
