import { FrameWriter } from '../../src/actor/commitCodec.ts'
import { Partition } from '../../src/actor/partition.ts'
import { storeSalt } from '../../src/events/ids.ts'
import type { Geofence } from '../../src/model/geofence.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/model/settings.ts'
import { CachedOffsets } from '../../src/model/zoneOffsets.ts'
import { BeaconStore } from '../../src/registry/beacons/beaconStore.ts'
import { ScopeTrips } from '../../src/registry/trips/scopeTrips.ts'
import { NO_ATLAS } from '../../src/rules/atlas.ts'
import type { ScopeView } from '../../src/rules/port.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import type { Fix } from './receiver.ts'
import type { Happening } from './score.ts'
import type { Circle } from './truth.ts'

const START = Date.UTC(2026, 0, 5, 8)
const SCOPE = 2

/** The circles as a scope's geofences, with these settings. */
export function viewOf(circles: readonly Circle[], settings: Partial<Settings>): ScopeView {
  const index = createGeofenceIndex()
  const byId = new Map<string, Geofence>()
  circles.forEach(({ latitude, longitude, radiusMeters }, i) => {
    const geofence: Geofence = {
      id: i.toString(16).padStart(24, '0'),
      scope: SCOPE,
      tag: 'bench',
      externalId: String(i),
      description: `Geofence ${i}`,
      type: 'circle',
      shape: { kind: 'circle', center: [longitude, latitude], radius: radiusMeters },
      enabled: true,
      timeZone: 'Europe/Dublin',
      createdAt: START,
      updatedAt: START,
    }
    byId.set(geofence.id, geofence)
    index.put(geofence)
  })
  return {
    settings: { ...DEFAULT_SETTINGS, ...settings },
    revision: 1,
    atlas: NO_ATLAS,
    beacons: new BeaconStore(),
    index,
    trips: new ScopeTrips(),
    geofence: (id) => byId.get(id),
    zones: new CachedOffsets(),
    geofenceNamed: () => undefined,
  }
}

/** The entries and exits that the engine makes from one device's updates, in the order of their times. */
export function eventsOf(view: ScopeView, fixes: readonly Fix[]): Happening[] {
  const partition = new Partition(0, storeSalt('0123456789abcdef'))
  const writer = new FrameWriter()
  const happened: Happening[] = []
  for (const { second, latitude, longitude, accuracy } of fixes) {
    const time = START + second * 1000
    writer.begin(time)
    partition.begin(writer, time, view.revision)
    const result = partition.apply(
      {
        scope: SCOPE,
        deviceId: 'device',
        latitude,
        longitude,
        accuracy,
        foreground: false,
        stopped: false,
        replayed: false,
        updatedAt: time,
        receivedAt: time,
        ip: '203.0.113.7',
      },
      view,
      writer,
      false,
    )
    partition.end(writer, [])
    if (typeof result === 'symbol' || !('events' in result)) throw new Error(String(result))
    for (const json of result.events) {
      const { type, geofence, createdAt } = JSON.parse(json) as {
        type: string
        geofence: { externalId: string }
        createdAt: string
      }
      happened.push({
        circle: Number(geofence.externalId),
        kind: type === 'user.entered_geofence' ? 'entered' : 'exited',
        second: (Date.parse(createdAt) - START) / 1000,
      })
    }
  }
  return happened.sort((a, b) => a.second - b.second)
}
