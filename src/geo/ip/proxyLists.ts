import { fileURLToPath } from 'node:url'
import type { IpAddress } from '../../model/ipAddress.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ApiError, failureFields } from '../../runtime/errors.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { isInRanges, type AddressRanges } from './addressRanges.ts'
import { FreshFiles } from './freshFiles.ts'
import { NETWORK_PACKAGE, packageFile } from './packageFile.ts'
import type { Proxies } from './port.ts'
import { rangesInThread } from './rangesThread.ts'

/** Paths of the operator's files. */
export interface ProxyFiles {
  /** Addresses and CIDR ranges of proxies. */
  readonly proxies: readonly string[]
  /** The file with the exits of Tor; `''` if there is none. */
  readonly tor: string
  /** The file with addresses that are not proxies, whatever lists they are in; `''` if there is none. */
  readonly allowed: string
}

interface Parts {
  readonly clock: Clock
  readonly logger: Logger
}

const HOSTING_NETWORKS = fileURLToPath(new URL('./hostingNetworks.txt', import.meta.url))
const NONE: AddressRanges = { four: new Uint32Array(), six: new BigUint64Array() }

/**
 * Knows proxies by the operator's lists, and by the networks of hosting companies and VPNs, which are read when they
 * are needed.
 */
export class ProxyLists implements Proxies, Service {
  readonly name = 'lists of proxies'
  readonly #allowed: FreshFiles<AddressRanges>
  readonly #listed: FreshFiles<AddressRanges>
  readonly #hosting: FreshFiles<AddressRanges>
  readonly #logger: Logger

  constructor({ proxies, tor, allowed }: ProxyFiles, parts: Parts) {
    this.#logger = parts.logger
    this.#listed = lists([...proxies, tor], parts)
    this.#allowed = lists([allowed], parts)
    this.#hosting = new FreshFiles({ paths: [], read: async () => rangesInThread(hostingTask()), ...parts })
  }

  /**
   * Reads the operator's files.
   * @throws Error naming a file that cannot be read, and its line
   */
  async start(): Promise<void> {
    await Promise.all([this.#listed.get(), this.#allowed.get()])
  }

  stop(): void {}

  async isProxy(address: IpAddress): Promise<boolean> {
    try {
      if (isInRanges(this.#allowed.known ?? (await this.#allowed.get()), address)) return false
      if (isInRanges(this.#listed.known ?? (await this.#listed.get()), address)) return true
      return isInRanges(this.#hosting.known ?? (await this.#hosting.get()), address)
    } catch (error) {
      if (error instanceof ApiError) throw error
      this.#logger.warn(failureFields(error), 'the lists of proxies cannot be read')
      throw new ApiError(503, 'The lists of proxies cannot be read; the log of the server says why.')
    }
  }
}

/**
 * The lists in files.
 * @param paths `''` stands for no file
 */
function lists(paths: readonly string[], parts: Parts): FreshFiles<AddressRanges> {
  const files = paths.filter((path) => path !== '')
  const read = async () => (files.length === 0 ? NONE : rangesInThread({ kind: 'lists', files }))
  return new FreshFiles({ paths: files, read, ...parts })
}

/**
 * The task of reading the networks of hosting companies.
 * @throws {ApiError} 503 if the package is not installed
 */
function hostingTask() {
  return {
    kind: 'networks',
    ipv4: packageFile(NETWORK_PACKAGE, 'asn-ipv4-num.csv'),
    ipv6: packageFile(NETWORK_PACKAGE, 'asn-ipv6-num.csv'),
    chosen: HOSTING_NETWORKS,
  } as const
}
