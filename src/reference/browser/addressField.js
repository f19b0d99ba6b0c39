/* A text field for a place: coordinates, or an address or name that this server knows. */

/** The server is asked when typing has paused for this many milliseconds. */
const PAUSE_MS = 150
const MOST_COMPLETIONS = 6
const LAYERS = 'address,place,street,intersection,neighborhood,coarse'

/** An answer of the server that is not a success: `answer` and its `body`. */
export class Refused extends Error {
  constructor(answer, body) {
    super(body.meta.message)
    Object.assign(this, { answer, body })
  }
}

export class AddressField {
  #text
  #list
  #found
  #headers
  #near
  #timer
  /** Coordinates by the texts that were offered last. */
  #offered = new Map()

  /**
   * Connects the field.
   * @param text the input, which has a list; `found` is the element for the address that was found
   * @param headers returns the headers of a request
   * @param near returns the coordinates that results should be near to, or undefined
   */
  constructor(text, found, { headers, near }) {
    this.#text = text
    this.#list = text.list
    this.#found = found
    this.#headers = headers
    this.#near = near
    text.addEventListener('input', () => {
      found.textContent = ''
      clearTimeout(this.#timer)
      if (this.#isAddress()) this.#timer = setTimeout(() => void this.#offer(), PAUSE_MS)
    })
  }

  /** The coordinates as `latitude,longitude` if the field contains them; undefined for an address. */
  get coordinates() {
    return this.#isAddress() ? undefined : this.#text.value.trim()
  }

  /**
   * The coordinates of the field's text; undefined if there is no such address.
   * @throws Refused, and the browser's errors
   */
  async locate(signal) {
    const text = this.#text.value.trim()
    if (!this.#isAddress()) return text
    const offered = this.#offered.get(text)
    if (offered !== undefined) return offered
    const query = { query: text, layers: LAYERS }
    const [first] = await this.#addresses('/v1/geocode/forward', query, signal)
    if (first === undefined) return undefined
    this.#found.textContent = textOf(first)
    return coordinatesOf(first)
  }

  #isAddress() {
    return /\p{L}/u.test(this.#text.value)
  }

  /** Offers completions of the text. Failures are shown when the form is sent. */
  async #offer() {
    const query = this.#text.value
    const near = this.#near()
    const asked = { query, layers: LAYERS, limit: MOST_COMPLETIONS, ...(near !== undefined && { near }) }
    const addresses = await this.#addresses('/v1/search/autocomplete', asked).catch(() => [])
    if (this.#text.value !== query) return
    this.#offered = new Map(addresses.map((address) => [textOf(address), coordinatesOf(address)]))
    const options = [...this.#offered.keys()].map((value) =>
      Object.assign(document.createElement('option'), { value }),
    )
    this.#list.replaceChildren(...options)
  }

  async #addresses(path, query, signal) {
    const answer = await fetch(`${path}?${new URLSearchParams(query)}`, { headers: this.#headers(), signal })
    const body = await answer.json()
    if (!answer.ok) throw new Refused(answer, body)
    return body.addresses
  }
}

function textOf({ placeLabel, formattedAddress, addressLabel }) {
  if (placeLabel !== undefined) return `${placeLabel}, ${formattedAddress}`
  return formattedAddress.includes(addressLabel) ? formattedAddress : `${addressLabel}, ${formattedAddress}`
}

function coordinatesOf({ latitude, longitude }) {
  return `${latitude},${longitude}`
}
