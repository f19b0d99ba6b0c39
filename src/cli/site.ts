import type { Options } from '../../config/options.ts'

/** Addresses that mean all addresses of this machine, and the one of them that is reached from here. */
const ALL: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** The address of the server in links, without a slash at the end. */
export function siteOf({ publicUrl, host, port }: Options): string {
  return publicUrl === '' ? localUrl(host, port) : new URL(publicUrl).origin
}

/**
 * The URL at which this machine reaches a server, without a slash at the end. What the server prints at its start and the links
 * of its operator's commands have the same name, because a browser keeps the sessions of each name apart.
 * @param host the address on which it listens
 */
export function localUrl(host: string, port: number): string {
  const address = ALL[host] ?? host
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}
