import type { Position } from '../../model/geofence.ts'
import type { IpAddress } from '../../model/ipAddress.ts'
import type { Language } from '../records/names.ts'

/** Where an IP address is used, as a database of cities has it. Unknown fields are absent. */
export interface IpPlace {
  readonly position: Position
  /** Alpha-2. */
  readonly countryCode: string
  readonly state?: string | undefined
  /** Of the United States and Canada. */
  readonly stateCode?: string | undefined
  readonly city?: string | undefined
  readonly postalCode?: string | undefined
}

/** A place, and the credit for the data that it is from. */
export interface IpPlaceFound {
  readonly place: IpPlace
  readonly attribution: string
}

/** Knows where IP addresses are used. */
export interface IpPlaces {
  /**
   * @param language of the names, where the data have it
   * @returns undefined if the address is not known
   * @throws {ApiError} 503 if the data are not there
   */
  placeOf(address: IpAddress, language: Language): Promise<IpPlaceFound | undefined>
}

/** Knows addresses of proxies: of VPNs, hosting companies, Tor and what the operator lists. */
export interface Proxies {
  /** @throws {ApiError} 503 if the data are not there */
  isProxy(address: IpAddress): Promise<boolean>
}
