import { randomBytes } from 'node:crypto'

/**
 * A random part for this process: otherwise, two processes that create records in the same second would give them the
 * same ids.
 */
const PROCESS = randomBytes(5).toString('hex')
let counter = randomBytes(3).readUIntBE(0, 3)

/**
 * A record id: 24 hex, four bytes of seconds, five of the process, and three of a counter. Increasing ids are written
 * to the end of the database's index; random ones touch a page each, which slows an import down.
 */
export function newId(now: number): string {
  counter = (counter + 1) & 0xffffff
  const seconds = Math.floor(now / 1000) >>> 0
  return seconds.toString(16).padStart(8, '0') + PROCESS + counter.toString(16).padStart(6, '0')
}
