import type { IpAddress } from '../../model/ipAddress.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { isInRanges } from './addressRanges.ts'
import { FreshFiles } from './freshFiles.ts'
import { readInThread } from './listThread.ts'
import type { Proxies } from './port.ts'

/** Files of the operator. */
export interface ProxyFiles {
  /** Addresses and CIDR ranges of proxies. */
  readonly proxies: readonly string[]
  /** Exits of Tor; `''` for none. */
  readonly tor: string
  /** Addresses that are no proxies, whatever lists they are in; `''` for none. */
  readonly allowed: string
}

/** Proxies by the operator's lists. */
export class ProxyLists implements Proxies, Service {
  readonly name = 'lists of proxies'
  readonly #lists: FreshFiles<Awaited<ReturnType<typeof readProxyFiles>>>

  constructor(files: ProxyFiles, parts: { readonly clock: Clock; readonly logger: Logger }) {
    const paths = [...files.proxies, files.tor, files.allowed].filter((path) => path !== '')
    this.#lists = new FreshFiles({ paths, read: () => readProxyFiles(files), ...parts })
  }

  /** @throws Error naming a file that cannot be read, and its line */
  async start(): Promise<void> {
    await this.#lists.get()
  }

  stop(): void {}

  async isProxy(address: IpAddress): Promise<boolean> {
    const { proxies, allowed } = await this.#lists.get()
    return isInRanges(proxies, address) && !isInRanges(allowed, address)
  }
}

const NONE = { four: new Uint32Array(), six: new BigUint64Array() }

async function readProxyFiles({ proxies, tor, allowed }: ProxyFiles) {
  const task = {
    proxies: [...proxies, tor].filter((path) => path !== ''),
    allowed: [allowed].filter((path) => path !== ''),
  }
  if (task.proxies.length + task.allowed.length === 0) return { proxies: NONE, allowed: NONE }
  return readInThread(task)
}
