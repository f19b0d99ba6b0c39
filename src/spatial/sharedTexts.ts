import { parseOperatingHours, type OperatingHours } from '../model/operatingHours.ts'

/** How many texts may be shared. Numbers have 16 bits, and the highest one means none. */
const MOST_TEXTS = 0xffff
/** How many characters all texts together may have. */
const MOST_CHARACTERS = 4 * 1024 * 1024
/** The number that stands for a text without a number, because the table is full. */
export const UNSHARED = 0xffff

/**
 * Texts that many geofences share, such as tags and time zones, by numbers. A registry has one for all of its scopes.
 * Numbers are never freed; the table is bounded instead.
 */
export class SharedTexts {
  readonly #numbers = new Map<string, number>()
  readonly #texts: string[] = []
  /** The operating hours that a text is the JSON of, if they were asked for. */
  readonly #hours: (OperatingHours | undefined)[] = []
  #characters = 0

  /** The number of a text; {@link UNSHARED} if there is no room. */
  share(text: string): number {
    const known = this.#numbers.get(text)
    if (known !== undefined) return known
    if (this.#texts.length === MOST_TEXTS || this.#characters + text.length > MOST_CHARACTERS) return UNSHARED
    this.#characters += text.length
    this.#numbers.set(text, this.#texts.length)
    return this.#texts.push(text) - 1
  }

  /** The number of a text that was shared before; {@link UNSHARED} if it was not. */
  numberOf(text: string): number {
    return this.#numbers.get(text) ?? UNSHARED
  }

  /** The text with that number. */
  text(number: number): string {
    return this.#texts[number]!
  }

  /**
   * The operating hours whose definition, as JSON, has that number. They are parsed once: thousands of branches have the
   * same hours, and then share them instead of taking a kilobyte each.
   */
  hours(number: number): OperatingHours {
    return (this.#hours[number] ??= parseOperatingHours(JSON.parse(this.#texts[number]!))!)
  }

  /**
   * Reads a definition of operating hours, like {@link parseOperatingHours}. Those that geofences have in common are
   * parsed once.
   */
  parseHours(definition: unknown): OperatingHours | undefined {
    const number = this.numberOf(JSON.stringify(definition))
    return number === UNSHARED ? parseOperatingHours(definition) : this.hours(number)
  }
}
