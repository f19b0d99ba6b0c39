import type { Position } from '../../model/geofence.ts'
import type { IpAddress } from '../../model/ipAddress.ts'
import type { Language } from '../records/names.ts'

/** Where an IP address is used, according to a database of cities. Unknown fields are absent. */
export interface IpPlace {
  readonly position: Position
  /** The alpha-2 code. */
  readonly countryCode: string
  readonly state?: string | undefined
  /** The state's code, only for the United States and Canada. */
  readonly stateCode?: string | undefined
  readonly city?: string | undefined
  readonly postalCode?: string | undefined
}

/** A place, and the credit for its data. */
export interface IpPlaceFound {
  readonly place: IpPlace
  readonly attribution: string
}

/** Knows where IP addresses are used. */
export interface IpPlaces {
  /**
   * Finds the place of an address.
   * @param language of the names, if the data have it
   * @returns undefined if the address is not known
   * @throws {ApiError} 503 if the data are missing
   */
  placeOf(address: IpAddress, language: Language): Promise<IpPlaceFound | undefined>
}

/** Knows the addresses of proxies: VPNs, hosting companies, Tor and what the operator lists. */
export interface Proxies {
  /**
   * Whether an address is a proxy's.
   * @throws {ApiError} 503 if the data are missing
   */
  isProxy(address: IpAddress): Promise<boolean>
}
