/** The load of the bench of trips: devices that drive in the sample city, of which some are on trips. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom, type City } from '../../src/simulation/streets.ts'
import { thousands } from '../figures.ts'
import { progress } from '../progress.ts'
import { CONNECTIONS, WARM_UP_PATIENCE_MS } from './httpContender.ts'
import type { Generator, LoadResult } from './load.ts'
import { BENCH_KEYS, type ServerProcess } from './servers.ts'
import { drawGeofences, Fleet, RecordFile, regionOf, type Workload } from './workload.ts'

/** Geofences of the city, as dense as in the other benches. */
export const GEOFENCES = 2_800
const ROUNDS = 6

/** The built-up part of the sample city. */
export const TRIP_CITY: City = { ...regionOf(GEOFENCES), latitude: -34.915, longitude: -56.22 }

/** The geofences of the city, to which trips go. */
export function cityGeofences(seed: number): Iterable<Record<string, unknown>> {
  return drawGeofences(GEOFENCES, seed, 1, TRIP_CITY)
}

/** Some of the devices: those from one number on, up to another. */
export interface Part {
  readonly name: string
  readonly from: number
  readonly to: number
}

/** Writes a request file of tracks for each part of the devices. Each device has a user of its own. */
export function writeTripWorkloads<Name extends string>(
  folder: string,
  devices: number,
  seed: number,
  parts: readonly (Part & { readonly name: Name })[],
): Readonly<Record<Name, Workload>> {
  const trackHead = writeHead(folder, 'track', BENCH_KEYS.testPublishable)
  const paths = parts.map(({ name }) => join(folder, `${name}.requests`))
  const files = paths.map((path) => new RecordFile(path))
  const fleet = new Fleet(TRIP_CITY, devices, seed)
  // Their order differs from round to round, so a device is known by its id.
  const numbers = new Map<unknown, number>()
  for (let round = 0; round < ROUNDS; round++) {
    progress(`${thousands(devices)} devices drive, ${round + 1} of ${ROUNDS} rounds`)
    for (const update of fleet.round()) {
      const number = numbers.get(update['deviceId']) ?? numbers.size
      numbers.set(update['deviceId'], number)
      const body = JSON.stringify({ ...update, userId: userOf(number) })
      parts.forEach(({ from, to }, i) => {
        if (number >= from && number < to) files[i]!.add(body)
      })
    }
  }
  for (const file of files) file.close()
  return Object.fromEntries(
    parts.map(({ name, from, to }, i) => [
      name,
      { trackBodies: paths[i]!, trackHead, sampleBodies: [], devices: to - from },
    ]),
  ) as unknown as Record<Name, Workload>
}

/** Writes an update of each device, which stands at a place of its own in the city. */
export function writeStanding(folder: string, { name, from, to }: Part, seed: number): Workload {
  const trackHead = writeHead(folder, 'track', BENCH_KEYS.testPublishable)
  const trackBodies = join(folder, `${name}.requests`)
  const random = seededRandom(seed)
  const file = new RecordFile(trackBodies)
  for (let number = from; number < to; number++) {
    const update = {
      deviceId: `${name}-${number}`,
      userId: userOf(number),
      latitude: TRIP_CITY.latitude + random() * 0.08,
      longitude: TRIP_CITY.longitude + random() * 0.1,
      accuracy: 10,
    }
    file.add(JSON.stringify(update))
  }
  file.close()
  return { trackBodies, trackHead, sampleBodies: [], devices: to - from }
}

/**
 * Gives each of these devices a trip to one of the geofences, or changes the trips that it gave them.
 * @param fields of each trip, besides its destination
 */
export async function postTrips(
  { port }: ServerProcess,
  generator: Generator,
  folder: string,
  { name, from, to }: Part,
  seed: number,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const requests = join(folder, `${name}.trips`)
  const head = writeHead(folder, 'trips', BENCH_KEYS.testSecret)
  const random = seededRandom(seed)
  const file = new RecordFile(requests)
  for (let number = from; number < to; number++) {
    const trip = {
      externalId: `${name}-${number}`,
      userId: userOf(number),
      destinationGeofenceTag: 'bench',
      destinationGeofenceExternalId: String(Math.floor(random() * GEOFENCES)),
      ...fields,
    }
    file.add(JSON.stringify(trip))
  }
  file.close()
  const count = to - from
  const load = { port, connections: CONNECTIONS, requests, head, group: count, offset: 0, count, rate: 0 }
  const result = await generator.run({ ...load, patienceMs: WARM_UP_PATIENCE_MS }, (answered) =>
    progress(`${thousands(answered)} of ${thousands(count)} trips of ${name}`),
  )
  requireAll(`the trips of ${name}`, result)
}

/** @throws if a request was refused or lost */
export function requireAll(what: string, result: LoadResult): void {
  if (result.ok === result.sent && result.unsent === 0) return
  throw new Error(`${what} were refused or lost: ${JSON.stringify(result)}`)
}

/** Sends a request with the secret key. */
export async function ask(
  port: number,
  method: string,
  path: string,
  body?: object,
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
): Promise<any> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
    method,
    headers: { authorization: BENCH_KEYS.testSecret, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${method} ${path} was answered ${answer.status} ${text}`)
  return JSON.parse(text)
}

/** How many ways of trips a server has measured so far, and for how many the straight line counts. */
export async function waysOf({ port }: ServerProcess): Promise<{ road: number; straight: number }> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const count = (source: string) =>
    Number(new RegExp(`^ringfence_trip_ways_total\\{source="${source}"\\} (\\d+)$`, 'm').exec(text)![1])
  return { road: count('road'), straight: count('straight') }
}

function userOf(device: number): string {
  return `user-${device}`
}

/** Writes request line and headers of a POST, without Content-Length. */
function writeHead(folder: string, path: string, key: string): string {
  const file = join(folder, `${path}.head`)
  writeFileSync(
    file,
    `POST /v1/${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${key}\r\n` +
      'Content-Type: application/json\r\nAccept: */*\r\nUser-Agent: ringfence-bench\r\n',
  )
  return file
}
