/** What the web SDKs need of a browser, for tests of them in Node. */

// oxlint-disable-next-line typescript/no-explicit-any -- positions of every shape
type Json = any

/** What a browser has and Node does not. */
export function standIn(position: object): void {
  const stored = new Map<string, string>()
  Object.assign(globalThis, {
    window: {
      localStorage: {
        getItem: (key: string) => stored.get(key) ?? null,
        setItem: (key: string, value: string) => stored.set(key, String(value)),
        removeItem: (key: string) => stored.delete(key),
      },
    },
    XMLHttpRequest: RequestStandIn,
  })
  Object.defineProperty(globalThis.navigator, 'geolocation', {
    value: { getCurrentPosition: (done: (found: Json) => void) => done({ coords: position }) },
  })
}

/** An XMLHttpRequest for calls with answers of text. */
class RequestStandIn {
  status = 0
  response = ''
  responseType = ''
  onload = (): void => {}
  onerror = (): void => {}
  #method = ''
  #url = ''
  readonly #headers: Record<string, string> = {}

  open(method: string, url: string): void {
    this.#method = method
    this.#url = url
  }

  setRequestHeader(name: string, value: string): void {
    this.#headers[name] = value
  }

  send(body?: string): void {
    const request = { method: this.#method, headers: this.#headers, ...(body !== undefined && { body }) }
    fetch(this.#url, request).then(
      async (answer) => {
        this.status = answer.status
        this.response = await answer.text()
        this.onload()
      },
      () => this.onerror(),
    )
  }
}
