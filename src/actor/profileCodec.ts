import { Packr } from 'msgpackr'
import type { Profile } from '../model/device.ts'

/**
 * A profile as bytes: MessagePack of an array in this order, so that no key is stored a million times.
 * Fields are only ever added at the end; an older, shorter array still reads.
 */
const packr = new Packr({ useRecords: false, variableMapSize: true })

/** The bytes are the caller's own. */
export function packProfile(p: Profile): Uint8Array {
  const packed = packr.pack([
    p.id,
    p.deviceId,
    p.userId ?? null,
    p.installId ?? null,
    p.description ?? null,
    p.metadata ?? null,
    p.deviceType ?? null,
    p.deviceOS ?? null,
    p.deviceMake ?? null,
    p.deviceModel ?? null,
    p.ip,
    p.createdAt,
    p.visits.map((v) => [v.geofenceId, v.enteredAt, v.dwelled]),
    // Only where the last update changed them: null stands for "the same".
    p.visitsBefore === p.visits ? null : p.visitsBefore.map((v) => [v.geofenceId, v.enteredAt, v.dwelled]),
    p.marks.map((m) => [m.stream, m.sequence]),
  ])
  // A copy of its own size: msgpackr answers a view into a large shared buffer, which would be kept alive whole.
  return new Uint8Array(packed)
}

type PackedVisit = [string, number, boolean]

export function unpackProfile(bytes: Uint8Array): Profile {
  const a = packr.unpack(bytes)
  const visits = (a[12] as PackedVisit[]).map(unpackVisit)
  return {
    id: a[0],
    deviceId: a[1],
    userId: a[2] ?? undefined,
    installId: a[3] ?? undefined,
    description: a[4] ?? undefined,
    metadata: a[5] ?? undefined,
    deviceType: a[6] ?? undefined,
    deviceOS: a[7] ?? undefined,
    deviceMake: a[8] ?? undefined,
    deviceModel: a[9] ?? undefined,
    ip: a[10],
    createdAt: a[11],
    visits,
    visitsBefore: a[13] === null ? visits : (a[13] as PackedVisit[]).map(unpackVisit),
    marks: (a[14] as [string, number][]).map(([stream, sequence]) => ({ stream, sequence })),
  }
}

function unpackVisit([geofenceId, enteredAt, dwelled]: PackedVisit) {
  return { geofenceId, enteredAt, dwelled }
}
