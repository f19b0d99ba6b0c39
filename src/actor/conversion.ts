import { strangerId } from '../events/ids.ts'
import { conversionJson } from '../events/record.ts'
import { deviceHash } from '../model/deviceHash.ts'
import type { Conversion } from '../model/event.ts'
import { ApiError } from '../runtime/errors.ts'
import { countConversion } from '../rules/segments.ts'
import type { CommandKind } from './command.ts'
import { writeWhole } from './deviceRows.ts'
import { identify } from './identity.ts'
import { packProfile } from './profileCodec.ts'

/**
 * Puts a conversion into the event log, and returns the event's JSON. It changes nothing else but the counts of
 * segments, and has no number by which a resend could be recognized.
 */
export const CONVERSION: CommandKind<Conversion, string> = {
  name: 'conversion',
  isBounded: true,
  // It is applied after the updates, so that a conversion finds the user of a first update that came with it.
  isBeforeUpdates: false,

  partitionOf: ({ deviceId }, { partitions }) => deviceHash(deviceId) % partitions,

  /** The conversion is sent as JSON, because its metadata may have any keys. */
  encode: (conversion) => JSON.stringify(conversion),
  decode: (json) => JSON.parse(json as string) as Conversion,

  apply(partition, conversion, { writer, registry }) {
    const { table, salt } = partition
    const { row } = identify(table, conversion)
    const user = row < 0 ? undefined : table.profile(row)
    const accuracy = table.accuracy(row)
    const position = user && {
      latitude: table.latitude(row),
      longitude: table.longitude(row),
      accuracy: Number.isNaN(accuracy) ? undefined : accuracy,
    }
    const { scope, deviceId, createdAt } = conversion
    const userId = user?.id ?? strangerId(salt, scope, deviceId, conversion.userId)
    const id = partition.events.nextId()
    const json = conversionJson(id, conversion, user ?? { id: userId }, position)
    partition.events.add({
      scope,
      id,
      type: conversion.name,
      deviceId,
      userId: user?.userId ?? conversion.userId,
      userRecordId: userId,
      createdAt,
      actualCreatedAt: conversion.receivedAt,
      json,
    })
    const { segments } = registry.scope(scope).settings
    const counted = user && countConversion(user.segments, segments, conversion.name, createdAt)
    if (counted !== user?.segments) {
      const profile = { ...user!, segments: counted! }
      table.setProfile(row, scope, profile)
      // The next update decides to which segments the user belongs.
      table.endZone(row)
      writeWhole(writer, table, row, packProfile(profile))
    }
    return json
  },

  repeat: () =>
    Promise.reject(
      new ApiError(
        503,
        'It is not known whether the event was recorded. Look for it before sending it again.',
        { retryAfter: 1 },
      ),
    ),
}
