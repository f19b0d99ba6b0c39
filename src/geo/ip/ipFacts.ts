import { LRUCache } from 'lru-cache'
import { parseIpAddress } from '../../model/ipAddress.ts'
import { Unfetched, Unknown, type IpHere } from '../../rules/atlas.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ApiError, failureFields } from '../../runtime/errors.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { IpPlaces, Proxies } from './port.ts'
import { isPublic } from './publicAddress.ts'

/** How many addresses are kept, at some hundred bytes each. */
const MOST_ADDRESSES = 50_000
/** How long facts count. Lists of proxies may change. */
const COUNTS_MS = 600_000
const RETRY_MS = 10_000

/** What the engine knows about the addresses of devices. Each is looked up once in ten minutes. */
export class IpFacts {
  readonly #places: IpPlaces
  readonly #proxies: Proxies
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #known = new LRUCache<string, IpHere | Unknown>({ max: MOST_ADDRESSES })

  constructor(parts: {
    readonly places: IpPlaces
    readonly proxies: Proxies
    readonly clock: Clock
    readonly logger: Logger
  }) {
    this.#places = parts.places
    this.#proxies = parts.proxies
    this.#clock = parts.clock
    this.#logger = parts.logger
  }

  at(ip: string): IpHere | Unknown | Unfetched {
    const known = this.#known.get(ip)
    if (known !== undefined && this.#clock.now() < known.until) return known
    return new Unfetched(() => this.#look(ip))
  }

  async #look(ip: string): Promise<void> {
    try {
      this.#known.set(ip, await this.#read(ip))
    } catch (error) {
      this.#logger.warn(failureFields(error), 'what is known about IP addresses cannot be read')
      this.#known.set(ip, new Unknown(this.#clock.now() + RETRY_MS, true))
    }
  }

  async #read(ip: string): Promise<IpHere> {
    const until = this.#clock.now() + COUNTS_MS
    const nothing = { isProxy: false, country: undefined, latitude: 0, longitude: 0, until }
    const address = parseIpAddress(ip)
    if (address === undefined || !isPublic(address)) return nothing
    const [found, isProxy] = await Promise.all([
      this.#places.placeOf(address, 'en').catch(unlessMissing),
      this.#proxies.isProxy(address).catch(unlessMissing),
    ])
    if (found === undefined) return { ...nothing, isProxy: isProxy ?? false }
    const { countryCode, position } = found.place
    const [longitude, latitude] = position
    return { isProxy: isProxy ?? false, country: countryCode, latitude, longitude, until }
  }
}

/** Returns undefined if a package is not installed; otherwise throws the error. */
function unlessMissing(error: unknown): undefined {
  if (error instanceof ApiError && error.retryAfter === undefined) return undefined
  throw error
}
