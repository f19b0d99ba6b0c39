/** What the tests of hooks of areas and roaming share: places at which geometry goes wrong, and a reader of messages. */
import type { NatsConnection } from '@nats-io/transport-node'
import { pointDistance } from '../../src/geometry/distance.ts'
import { until } from '../kit/waiting.ts'

export type Position = readonly [longitude: number, latitude: number]
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of every shape
export type Json = any

const METERS = 111_000

/** Where the walks go: around places at which planar geometry goes wrong. */
export const CORNERS: readonly Position[] = [
  [180, 0],
  [-180, 65],
  [179.9995, -17],
  [0, 89.9995],
  [120, -89.9995],
  [13.4132, 52.5219],
]

/** A point so many metres from a corner, across the antimeridian and the poles. */
export function placeOf(corner: number, east: number, north: number): Position {
  const [longitude, latitude] = CORNERS[corner]!
  let lat = latitude + north / METERS
  let lon = longitude + east / (METERS * Math.max(0.001, Math.cos((latitude * Math.PI) / 180)))
  if (Math.abs(lat) > 90) {
    lat = Math.sign(lat) * 180 - lat
    lon += 180
  }
  return [((((lon + 180) % 360) + 360) % 360) - 180, lat]
}

/** Metres. */
export const distance = ([lonA, latA]: Position, [lonB, latB]: Position) =>
  pointDistance(latA, lonA, latB, lonB)

/** From one longitude to another, the short way round. */
export function turnOf(from: number, to: number): number {
  return ((((to - from + 180) % 360) + 360) % 360) - 180
}

/** What hooks publish to subjects below `hooks.`. */
export class HookReader {
  readonly got: { hook: string; id: string; event: Json }[] = []

  static async open(connection: NatsConnection): Promise<HookReader> {
    const reader = new HookReader()
    const subscription = connection.subscribe('hooks.>')
    void (async () => {
      for await (const { headers, data } of subscription) {
        const { hook, event } = JSON.parse(Buffer.from(data).toString())
        reader.got.push({ hook: hook.externalId, id: headers!.get('Nats-Msg-Id'), event })
      }
    })()
    await connection.flush()
    return reader
  }

  /** Waits for so many messages of a hook, and returns all, each once. */
  async messages(name: string, least: number): Promise<Json[]> {
    const of = () => [
      ...new Map(this.got.filter(({ hook }) => hook === name).map(({ id, event }) => [id, event])).values(),
    ]
    await until(async () => of().length >= least)
    return of()
  }
}

export const words = (events: readonly Json[]) =>
  events.map(({ type }) => type.replace(/^user\.|_area$/g, ''))
