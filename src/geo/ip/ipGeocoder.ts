import { OSM_CREDIT } from '../../model/credits.ts'
import { ipText, parseIpAddress } from '../../model/ipAddress.ts'
import type { Position } from '../../model/geofence.ts'
import { addressLine } from '../geocoding/addressText.ts'
import type { Address } from '../geocoding/port.ts'
import { areaAddress } from '../geocoding/results.ts'
import type { Surroundings } from '../geocoding/surroundings.ts'
import type { Language } from '../records/names.ts'
import { countryName, countryOf } from '../world/countries.ts'
import type { IpPlace, IpPlaces, Proxies } from './port.ts'
import { isPublic } from './publicAddress.ts'

/** What is known of an IP address. */
export interface IpAnswer {
  /** The address in its usual form. IPv4 mapped into IPv6 is shown as IPv4. */
  readonly ip: string
  readonly proxy: boolean
  readonly address?: Address
  /** The credit for the data; absent if no data were used. */
  readonly attribution?: string
}

/** Answers where IP addresses are used. */
export class IpGeocoder {
  readonly #places: IpPlaces
  readonly #proxies: Proxies

  constructor(places: IpPlaces, proxies: Proxies) {
    this.#places = places
    this.#proxies = proxies
  }

  /**
   * Answers a question.
   * @param ip the address of the requester; a text that is no address is answered like an unknown address
   * @param now in epoch milliseconds, for time zones
   * @throws {ApiError} 503 if the data are missing
   */
  async answer(ip: string, language: Language, now: number): Promise<IpAnswer> {
    const address = parseIpAddress(ip)
    if (address === undefined) return { ip, proxy: false }
    const text = ipText(address)
    if (!isPublic(address)) return { ip: text, proxy: false }
    const found = await this.#places.placeOf(address, language)
    if (found === undefined) return { ip: text, proxy: false }
    return {
      ip: text,
      proxy: await this.#proxies.isProxy(address),
      address: addressOf(found.place, language, now),
      // The time zone comes from OpenStreetMap.
      attribution: `${found.attribution}, ${OSM_CREDIT}`,
    }
  }

  /** Where an address is used. Undefined if that is not known, also if the data are missing. */
  async positionOf(ip: string): Promise<Position | undefined> {
    const address = parseIpAddress(ip)
    if (address === undefined || !isPublic(address)) return undefined
    const found = await this.#places.placeOf(address, 'en').catch(() => undefined)
    return found?.place.position
  }
}

function addressOf(place: IpPlace, language: Language, now: number): Address {
  const { position, countryCode, state, stateCode, city, postalCode } = place
  const country = countryOf(countryCode)
  const here: Surroundings = {
    country,
    countryName: countryName(countryCode, language),
    state,
    stateCode,
    county: undefined,
    city,
    borough: undefined,
    neighborhood: undefined,
    postalCode,
    areas: new Map(),
  }
  const layer = city !== undefined ? 'locality' : state !== undefined ? 'state' : 'country'
  const address = areaAddress(layer, here, position, now)!
  if (postalCode === undefined) return address
  const formattedAddress = addressLine(undefined, { ...address, postalCode, countryCode3: country.code3 })
  return { ...address, postalCode, formattedAddress }
}
