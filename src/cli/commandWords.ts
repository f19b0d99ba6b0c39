/** The words of operator's commands. */

/** The input is not a command. The message says what is wrong with it. */
export class WrongCommand extends Error {}

/**
 * Checks the number of words.
 * @throws {WrongCommand} for more words than the command takes
 */
export function noMoreThan(count: number, command: string, rest: readonly string[]): void {
  if (rest.length > count)
    throw new WrongCommand(`${command} does not accept the argument ${quoted(rest[count])}.`)
}

/**
 * Reads the number of a project.
 * @throws {WrongCommand}
 */
export function projectNumber(command: string, text: string | undefined): number {
  if (text !== undefined && /^\d{1,15}$/.test(text)) return Number(text)
  throw new WrongCommand(`${command} needs the number of a project, not ${quoted(text)}.`)
}

/** A word as messages show it. */
export function quoted(word: string | undefined): string {
  return word === undefined ? 'nothing' : JSON.stringify(word)
}
