/**
 * The addresses of servers of which each serves all, such as the gateways of one cluster. One is in use until it fails.
 *
 * The first is chosen by chance, so that clients spread over them.
 */
export class Servers {
  readonly #urls: readonly string[]
  #at: number

  /**
   * Chooses one of the addresses.
   * @throws TypeError if there is none
   */
  constructor(urls: string | readonly string[]) {
    this.#urls = [urls].flat().map((url) => url.replace(/(?<!\/)\/+$/, ''))
    if (this.#urls.length === 0) throw new TypeError('url: at least one address is needed')
    this.#at = Math.floor(Math.random() * this.#urls.length)
  }

  /** The address in use, without a slash at its end. */
  get url(): string {
    return this.#urls[this.#at]!
  }

  /**
   * Must be called when the server at that address cannot be used: the next one is used, unless that was noticed
   * before.
   */
  failed(url: string): void {
    if (url === this.url) this.#at = (this.#at + 1) % this.#urls.length
  }
}
