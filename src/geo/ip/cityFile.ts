import ipaddr from 'ipaddr.js'
import { Reader } from 'mmdb-lib'
import type { IpAddress } from '../../model/ipAddress.ts'
import type { Language } from '../records/names.ts'
import { placeOfRecord, type GeoIp2Record, type PlainRecord } from './cityRecord.ts'
import { readPacked } from '../../runtime/packedFile.ts'
import type { IpPlaceFound } from './port.ts'

/** The names of fields in records of both forms. */
const FIELDS: ReadonlySet<string> = new Set(
  (
    'country_code state1 state2 city postcode latitude longitude timezone ' +
    'country registered_country iso_code subdivisions names postal code location en'
  ).split(' '),
)
/** The number of zero bytes between the tree and the data of a file. */
const SEPARATOR_BYTES = 16
const DB_IP_CREDIT = 'IP Geolocation by DB-IP (https://db-ip.com)'
/** The credits that the licences require, by the beginning of a file's type. */
const CREDITS: readonly (readonly [type: string, credit: string])[] = [
  [
    'GeoLite2',
    'This product includes GeoLite2 data created by MaxMind, available from https://www.maxmind.com',
  ],
  ['DBIP', DB_IP_CREDIT],
  ['city ipv', DB_IP_CREDIT],
]

/**
 * A file in MaxMind's format (.mmdb) that contains the cities of IP addresses. It is kept in memory, outside of the
 * heap.
 */
export class CityFile {
  readonly #reader: Reader<never>
  readonly #attribution: string
  readonly #isIpv4Only: boolean

  /**
   * Reads a file.
   * @throws Error that says what is wrong with the file
   */
  static async open(path: string): Promise<CityFile> {
    const bytes = await readPacked(path)
    try {
      return new CityFile(bytes)
    } catch (cause) {
      throw new Error(`${path} is no database of cities (.mmdb): ${(cause as Error).message}`, { cause })
    }
  }

  private constructor(bytes: Buffer) {
    this.#reader = new Reader(bytes, { cache: new FieldNames() })
    const { databaseType, searchTreeSize, ipVersion } = this.#reader.metadata
    if (!/city|enterprise/i.test(databaseType)) throw new Error(`its type is ${databaseType}`)
    if (searchTreeSize + SEPARATOR_BYTES > bytes.length) throw new Error('it ends too early')
    this.#isIpv4Only = ipVersion === 4
    this.#attribution = CREDITS.find(([type]) => databaseType.startsWith(type))?.[1] ?? databaseType
  }

  placeOf(address: IpAddress, language: Language): IpPlaceFound | undefined {
    if (this.#isIpv4Only && address.kind() === 'ipv6') return undefined
    const record = this.#reader.get(plainText(address)) as PlainRecord | GeoIp2Record | null
    const place = record === null ? undefined : placeOfRecord(record, language)
    return place && { place, attribution: this.#attribution }
  }
}

/** A text of an address that the reader knows. For IPv6, it is made in a third of the time of the usual one. */
function plainText(address: IpAddress): string {
  return address instanceof ipaddr.IPv6
    ? address.parts.map((part) => part.toString(16)).join(':')
    : address.toString()
}

/** How many of them are kept. A file needs some twenty. */
const MOST_NAMES = 1000

/**
 * The names of fields in a file by their place in it, for the reader, so that it does not decode them for each record. No
 * other part of a record is kept.
 */
class FieldNames {
  readonly #names = new Map<string | number, Decoded>()

  get(place: string | number): Decoded | undefined {
    return this.#names.get(place)
  }

  set(place: string | number, decoded: Decoded): void {
    const { value } = decoded
    if (typeof value === 'string' && FIELDS.has(value) && this.#names.size < MOST_NAMES)
      this.#names.set(place, decoded)
  }
}

interface Decoded {
  readonly value: unknown
}
