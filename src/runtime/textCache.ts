/**
 * Texts of objects that never change and are requested again and again. Texts that were not requested during a whole
 * generation are forgotten, so memory is bounded by the characters of two generations.
 */
export class TextCache<K extends object> {
  readonly #mostCharacters: number
  #young = new Map<K, string>()
  #old = new Map<K, string>()
  #youngCharacters = 0

  /**
   * An empty cache.
   * @param mostCharacters the limit for each of the two generations
   */
  constructor(mostCharacters: number) {
    this.#mostCharacters = mostCharacters
  }

  has(key: K): boolean {
    return this.#young.has(key) || this.#old.has(key)
  }

  /** The text of exactly this object. */
  get(key: K, make: (key: K) => string): string {
    const known = this.#young.get(key)
    if (known !== undefined) return known
    const text = this.#old.get(key) ?? make(key)
    if (this.#youngCharacters + text.length > this.#mostCharacters) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngCharacters = 0
    }
    this.#young.set(key, text)
    this.#youngCharacters += text.length
    return text
  }
}
