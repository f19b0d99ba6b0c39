import type { Server } from '../kit/server.ts'
import { KEYS } from '../kit/server.ts'

// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any
export type Kind = 'geofences' | 'beacons'

export const CSV = { 'content-type': 'text/csv' }

/** Imports a text, which must be answered with 200, and returns the record. */
export async function imported(
  server: Server,
  kind: Kind,
  text: string | Uint8Array,
  key?: string,
): Promise<Json> {
  return (await server.good('POST', `/v1/imports/${kind}`, text, key, CSV)).import
}

export async function exported(
  server: Server,
  kind: Kind,
  query = '',
  key = KEYS.testSecret as string,
): Promise<string> {
  const body = await server.good('GET', `/v1/exports/${kind}${query}`, undefined, key)
  return typeof body === 'string' ? body : JSON.stringify(body)
}

export async function records(server: Server, kind: Kind, key = KEYS.testSecret as string): Promise<Json[]> {
  const found: Json[] = []
  for (let before = ''; ;) {
    const { body } = await server.api('GET', `/v1/${kind}?limit=1000${before}`, undefined, key)
    found.push(...body[kind])
    if (!body.meta.hasMore) return found
    before = `&before=${body[kind].at(-1)._id}`
  }
}

export async function clear(server: Server, kind: Kind, key = KEYS.testSecret as string): Promise<void> {
  for (const { _id } of await records(server, kind, key))
    await server.api('DELETE', `/v1/${kind}/${_id}`, undefined, key)
}

/** The columns of {@link rowsOf}. */
export const HEADER = 'description,type,tag,externalId,coordinates,radius\n'

export function rowsOf(tag: string, from: number, count: number): string {
  return Array.from({ length: count }, (_, i) => `Row,circle,${tag},${from + i},"[1,2]",100\n`).join('')
}
