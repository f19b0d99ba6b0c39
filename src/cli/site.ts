import type { Options } from '../../config/options.ts'

/** Addresses that mean all addresses of this machine. */
const ANY: ReadonlySet<string> = new Set(['0.0.0.0', '::', '127.0.0.1', '::1'])

/** The address of the server in links, without a slash at the end. */
export function siteOf({ publicUrl, host, port }: Options): string {
  if (publicUrl !== '') return new URL(publicUrl).origin
  const name = ANY.has(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}
