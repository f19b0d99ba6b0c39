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

  /** The text of exactly this object, if it is kept. */
  find(key: K): string | undefined {
    const known = this.#young.get(key)
    if (known !== undefined) return known
    const old = this.#old.get(key)
    return old === undefined ? undefined : this.#keep(key, old)
  }

  /** The text of exactly this object. */
  get(key: K, make: (key: K) => string): string {
    return this.find(key) ?? this.#keep(key, make(key))
  }

  #keep(key: K, text: string): string {
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
