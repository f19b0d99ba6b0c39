/**
 * What the engine itself spends on an update: from the update object to the row in the commit and the text of the
 * reply, without HTTP, JSON decoding and disk. 100,000 geofences on 60 by 60 km, 100,000 devices that drive 2 s
 * between their updates.
 *
 * It is compared with the same engine whose zones are removed before every update, so that each goes through the
 * whole step: `ratio` is how many times longer that takes. Both are also shown per tier.
 *
 * Not measured: the cost of making the update object, garbage collection after the run, flushes.
 */
import { parseArgs } from 'node:util'
import { Driver, cityPosition as placeOf, seededRandom, type City } from '../../src/simulation/streets.ts'
import { FrameWriter } from '../../src/actor/commitCodec.ts'
import { Partition } from '../../src/actor/partition.ts'
import { storeSalt } from '../../src/events/ids.ts'
import { DEFAULT_SETTINGS } from '../../src/model/settings.ts'
import type { Geofence } from '../../src/model/geofence.ts'
import { CachedOffsets } from '../../src/model/zoneOffsets.ts'
import { BeaconStore } from '../../src/registry/beacons/beaconStore.ts'
import { ScopeTrips } from '../../src/registry/trips/scopeTrips.ts'
import { NO_ATLAS } from '../../src/rules/atlas.ts'
import type { ScopeView } from '../../src/rules/port.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { updateOf } from './driven.ts'

const { values: options } = parseArgs({
  options: {
    strict: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
  },
})
/** The stated benefit of zones: an update must take that many times longer without them. */
const STATED_RATIO = 1.2
const GEOFENCES = options.smoke ? 2_000 : 100_000
const DEVICES = options.smoke ? 2_000 : 100_000
const ROUNDS = options.smoke ? 3 : 8
const START = Date.UTC(2026, 0, 1)
const STEP_SECONDS = 2

const city: City = {
  latitude: 52.2,
  longitude: 13.1,
  sizeMeters: 60_000 * Math.sqrt(GEOFENCES / 100_000),
  blockMeters: 150,
}

function world(): ScopeView {
  const random = seededRandom(Number(options.seed))
  const index = createGeofenceIndex()
  const byId = new Map<string, Geofence>()
  for (let i = 0; i < GEOFENCES; i++) {
    const { latitude, longitude } = placeOf(city, random() * city.sizeMeters, random() * city.sizeMeters)
    const geofence: Geofence = {
      id: i.toString(16).padStart(24, '0'),
      scope: 2,
      tag: 'bench',
      externalId: String(i),
      description: `Geofence ${i}`,
      type: 'circle',
      shape: { kind: 'circle', center: [longitude, latitude], radius: 30 / (1 - 0.9 * random()) },
      enabled: true,
      timeZone: 'Europe/Berlin',
      createdAt: START,
      updatedAt: START,
    }
    byId.set(geofence.id, geofence)
    index.put(geofence)
  }
  const beacons = new BeaconStore()
  return {
    settings: DEFAULT_SETTINGS,
    revision: 1,
    atlas: NO_ATLAS,
    beacons,
    index,
    trips: new ScopeTrips(),
    geofence: (id) => byId.get(id),
    zones: new CachedOffsets(),
    geofenceNamed: () => undefined,
  }
}

interface Tally {
  updates: number
  milliseconds: number
  zoneHits: number
  events: number
}

/** Drives every device through all rounds. The first two only create the devices and warm up the code. */
function drive(view: ScopeView, zones: boolean): Tally {
  const random = seededRandom(Number(options.seed) + 1)
  const partition = new Partition(0, storeSalt('0123456789abcdef'))
  const drivers = Array.from({ length: DEVICES }, () => new Driver(city, random))
  const writer = new FrameWriter()
  const tally: Tally = { updates: 0, milliseconds: 0, zoneHits: 0, events: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    const time = START + round * STEP_SECONDS * 1000
    const updates = drivers.map((driver, i) => updateOf(driver, i, time))
    for (const driver of drivers) driver.advance(STEP_SECONDS)
    if (!zones) for (let row = 0; row < partition.table.length; row++) partition.table.endZone(row)
    const hitsBefore = partition.zoneHits
    let events = 0
    const begin = performance.now()
    for (let i = 0; i < updates.length; i += 32) {
      writer.begin(time)
      partition.begin(writer, time, 1)
      for (const update of updates.slice(i, i + 32)) {
        const result = partition.apply(update, view, writer, false)
        if (typeof result === 'object' && 'events' in result) events += result.events.length
      }
      partition.end(writer, [])
    }
    if (round < 2) continue
    tally.milliseconds += performance.now() - begin
    tally.updates += updates.length
    tally.zoneHits += partition.zoneHits - hitsBefore
    tally.events += events
  }
  return tally
}

const view = world()
const withZones = drive(view, true)
const without = drive(view, false)
const nanoseconds = (tally: Tally) => Math.round((tally.milliseconds * 1e6) / tally.updates)
console.table({
  'with zones': {
    nsPerUpdate: nanoseconds(withZones),
    zoneHitShare: Number((withZones.zoneHits / withZones.updates).toFixed(3)),
    eventsPerUpdate: Number((withZones.events / withZones.updates).toFixed(3)),
  },
  'without zones': {
    nsPerUpdate: nanoseconds(without),
    zoneHitShare: 0,
    eventsPerUpdate: Number((without.events / without.updates).toFixed(3)),
  },
})
const ratio = Number((nanoseconds(without) / nanoseconds(withZones)).toFixed(2))
console.log(
  JSON.stringify({
    bench: 'step',
    ratio,
    statedRatio: STATED_RATIO,
    nsPerUpdate: nanoseconds(withZones),
    nsPerUpdateWithoutZones: nanoseconds(without),
    zoneHitShare: withZones.zoneHits / withZones.updates,
    geofences: GEOFENCES,
    devices: DEVICES,
  }),
)
if (options.strict && !options.smoke && ratio < STATED_RATIO * 0.9) process.exitCode = 1
