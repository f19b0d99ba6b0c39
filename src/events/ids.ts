/**
 * Ids of 24 hex digits that are derived, not drawn, so that applying a commit twice gives the same ids (G2):
 * 8 digits of seconds, then 64 bits that say where in the store the thing is, XORed with the store's random id.
 *
 * Trip:   partition (10 bits) · drawn (53), with one bit that is 1
 * Event:  partition (10 bits) · commit sequence mod 2^26 (26) · index in the commit (28)
 * User:   partition (10 bits) · zeros (22) · row in the partition's device table (32)
 *
 * The sequence may wrap: 2^26 commits of one partition do not fit into one second, and the seconds differ.
 */

import { deviceHash } from '../model/deviceHash.ts'
import { isRecordId } from '../model/recordId.ts'
import type { ScopeId } from '../model/scope.ts'

export const MAX_PARTITIONS = 1024

/** The store's random id, as two unsigned 32-bit halves. */
export interface StoreSalt {
  readonly high: number
  readonly low: number
}

/** Reads the salt out of the store id (16 hex digits). */
export function storeSalt(storeId: string): StoreSalt {
  if (!/^[0-9a-f]{16}$/.test(storeId)) throw new Error(`store id must be 16 hex digits, got "${storeId}"`)
  return { high: Number.parseInt(storeId.slice(0, 8), 16), low: Number.parseInt(storeId.slice(8), 16) }
}

/**
 * The id of an event.
 * @param index its index in the commit with that sequence
 * @param time the server's time, in epoch milliseconds
 */
export function eventId(
  salt: StoreSalt,
  time: number,
  partition: number,
  sequence: number,
  index: number,
): string {
  return eventIds(salt, time, partition, sequence)(index)
}

/** The ids of the events of a commit, by their index in it. Their common part is written once. */
export function eventIds(
  salt: StoreSalt,
  time: number,
  partition: number,
  sequence: number,
): (index: number) => string {
  const wrapped = sequence % 0x4000000
  const high = (partition << 22) | (wrapped >>> 4)
  const common = hex8(Math.floor(time / 1000)) + hex8(high ^ salt.high)
  return (index) => common + hex8((((wrapped & 15) << 28) | index) ^ salt.low)
}

/**
 * The id of a user record.
 * @param createdAt the server's time, in epoch milliseconds
 */
export function userRecordId(salt: StoreSalt, createdAt: number, partition: number, row: number): string {
  return hex8(Math.floor(createdAt / 1000)) + hex8((partition << 22) ^ salt.high) + hex8(row ^ salt.low)
}

/**
 * The `_id` of the user of a conversion whose device has no record. The same device and user give the same id, which
 * is the id of no record.
 */
export function strangerId(
  salt: StoreSalt,
  scope: ScopeId,
  deviceId: string,
  userId: string | undefined,
): string {
  const name = JSON.stringify([scope, deviceId, userId])
  // The low 22 bits of a record's id are zero before they are salted.
  const high = deviceHash(name) | 1
  return hex8(0) + hex8(high ^ salt.high) + hex8(deviceHash(`user ${name}`))
}

/** The partition and row of the user record with this id; undefined if no record of this store can have it. */
export function locateUserRecord(
  salt: StoreSalt,
  id: string,
): { readonly partition: number; readonly row: number } | undefined {
  if (!isRecordId(id)) return undefined
  const high = (Number.parseInt(id.slice(8, 16), 16) ^ salt.high) >>> 0
  if ((high & 0x3fffff) !== 0) return undefined
  return { partition: high >>> 22, row: (Number.parseInt(id.slice(16), 16) ^ salt.low) >>> 0 }
}

/**
 * The id of a trip.
 * @param drawn two random numbers of 32 bits
 */
export function tripId(
  salt: StoreSalt,
  createdAt: number,
  partition: number,
  [high, low]: readonly [number, number],
): string {
  // The low 22 bits of a user record's id are zero before they are salted.
  const top = (partition << 22) | (high >>> 10) | 1
  return hex8(Math.floor(createdAt / 1000)) + hex8(top ^ salt.high) + hex8(low)
}

/** The partition of a trip with this id; undefined if no trip of this store can have it. */
export function locateTrip(salt: StoreSalt, id: string): number | undefined {
  if (!isRecordId(id)) return undefined
  const high = (Number.parseInt(id.slice(8, 16), 16) ^ salt.high) >>> 0
  return (high & 1) === 1 ? high >>> 22 : undefined
}

/**
 * The two hexadecimal digits of each byte. Looking them up takes a tenth of the time of `toString(16)`, which each
 * event would need.
 */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

function hex8(value: number): string {
  return HEX[value >>> 24]! + HEX[(value >>> 16) & 255]! + HEX[(value >>> 8) & 255]! + HEX[value & 255]!
}
