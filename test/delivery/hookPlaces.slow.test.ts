/** Hooks of areas and roaming as their receivers see them: real servers of Ringfence, Tile38 and NATS. */
import t, { type Test } from 'tap'
import fc from '../kit/fastCheck.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer, type NatsServer } from '../kit/nats.ts'
import { startServer, type Server } from '../kit/server.ts'
import { tile38Server, WITHOUT_FOLLOWERS, type Tile38Server } from '../kit/tile38.ts'
import { until } from '../kit/waiting.ts'
import { crossedMeters, ringAt, ringHolds } from './bruteRing.ts'
import { CORNERS, distance, HookReader, placeOf, turnOf, words, type Json, type Position } from './hookKit.ts'

const skip = (await skipWithout(NATS_SERVER)) || (WITHOUT_FOLLOWERS && 'the stand-in has no roaming fences')
const ENDPOINT = { url: 'https://receiver.example/' }

/** Ringfence with Tile38, and a NATS server with a reader of everything below `hooks.`. */
class World {
  readonly server: Server
  readonly tile38: Tile38Server
  readonly #nats: NatsServer
  readonly reader: HookReader

  static async start(t: Test): Promise<World> {
    const [tile38, nats] = await Promise.all([tile38Server(t), natsServer(t)])
    const env = {
      RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8,::1',
      RINGFENCE_TILE38_URL: tile38.url,
      RINGFENCE_RATE_LIMITS: 'off',
    }
    const reader = await HookReader.open(await nats.client())
    return new World(await startServer(t, { env }), tile38, nats, reader)
  }

  private constructor(server: Server, tile38: Tile38Server, nats: NatsServer, reader: HookReader) {
    this.reader = reader
    this.server = server
    this.tile38 = tile38
    this.#nats = nats
  }

  async put(name: string, body: object): Promise<Json> {
    const endpoint = { url: `nats://${this.#nats.address}`, subject: `hooks.${name}` }
    return (await this.server.good('PUT', `/v1/hooks/place/${name}`, { ...body, endpoint })).hook
  }

  async hook(name: string): Promise<Json> {
    return (await this.server.api('GET', `/v1/hooks/place/${name}`)).body.hook
  }

  /** Moves devices, each once, and waits until Tile38 has the positions. */
  async move(places: Readonly<Record<string, Position>>): Promise<void> {
    await Promise.all(
      Object.entries(places).map(async ([deviceId, [longitude, latitude]]) => {
        const update = { deviceId, userId: `user of ${deviceId}`, longitude, latitude, accuracy: 5 }
        await this.server.good('POST', '/v1/track', update)
      }),
    )
    await this.copied()
  }

  async copied(): Promise<void> {
    await until(async () => {
      const { body } = await this.server.api('GET', '/metrics', undefined, null)
      return /^ringfence_tile38_waiting 0$/m.test(body)
    })
  }
}

t.test('without Tile38: 503 with the name of the setting; a bad definition names the field', async (t) => {
  const server = await startServer(t)
  const circle = { type: 'circle', center: [13.4, 52.5], radius: 100 }
  const put = (body: object) => server.api('PUT', '/v1/hooks/a/1', { endpoint: ENDPOINT, ...body })
  for (const body of [{ area: circle }, { roam: { meters: 100 } }]) {
    const { status, body: answer } = await put(body)
    t.equal(status, 503)
    t.match(answer.meta.message, /RINGFENCE_TILE38_URL/)
  }
  const cases: readonly [param: string, body: object][] = [
    ['geofence', {}],
    ['area', { geofence: { tag: 'a' }, area: circle }],
    ['roam', { area: circle, roam: { meters: 100 } }],
    ['area.type', { area: { type: 'geofence' } }],
    ['area.radius', { area: { type: 'circle', center: [0, 0] } }],
    ['area.radius', { area: { ...circle, radius: 0 } }],
    ['area.center', { area: { ...circle, center: [0, 91] } }],
    ['area.box', { area: { ...circle, box: [0, 0, 1, 1] } }],
    ['area.box', { area: { type: 'box', box: [0, 1, 1, 0] } }],
    ['area', { area: { type: 'box', box: [1, 0, 1, 1] } }],
    ['area.coordinates', { area: { type: 'polygon', coordinates: [[[0, 0]]] } }],
    ['area.colour', { area: { ...circle, colour: 'red' } }],
    ['roam.meters', { roam: {} }],
    ['roam.meters', { roam: { meters: 9 } }],
    ['roam.meters', { roam: { meters: 1001 } }],
    ['detect', { area: circle, detect: ['dwell'] }],
    ['detect', { roam: { meters: 100 }, detect: 'enter' }],
    ['detect', { geofence: { tag: 'a' }, detect: 'cross' }],
  ]
  for (const [param, body] of cases)
    t.match(await put(body), { status: 400, body: { meta: { param } } }, JSON.stringify(body))
})

/** Metres. */
const offset = fc.noBias(fc.integer({ min: -3000, max: 3000 }).map((decimetres) => decimetres / 10))
const spot = fc.tuple(fc.nat(CORNERS.length - 1), offset, offset)

t.test(
  'property: messages of areas equal a look at every position, also at ±180 and the poles',
  { skip },
  async (t) => {
    const world = await World.start(t)
    const RADIUS = 150
    const box = [179.999, -17.001, -179.999, -16.999] as const
    const rings = new Map<string, Position[]>()
    const holds: Record<string, (at: Position) => boolean> = {
      box: ([lon, lat]) => lat >= box[1] && lat <= box[3] && (lon >= box[0] || lon <= box[2]),
    }
    for (const [i, center] of CORNERS.entries()) {
      holds[`c${i}`] = (at) => distance(at, center) <= RADIUS
      const detect = ['enter', 'exit', 'cross', 'inside']
      await world.put(`c${i}`, { area: { type: 'circle', center, radius: RADIUS }, detect })
      const ring = ringAt(i, Math.abs(center[1]) > 89)
      rings.set(`p${i}`, ring)
      holds[`p${i}`] = (at) => ringHolds(ring, at)
      await world.put(`p${i}`, { area: { type: 'polygon', coordinates: [ring] }, detect })
    }
    t.match(await world.put('box', { area: { type: 'box', box } }), {
      detect: ['enter', 'exit'],
      status: 'active',
      area: { type: 'box', box },
    })
    const names = Array.from({ length: 24 }, (_, i) => `d${i}`)
    const at = new Map<string, Position>()
    const wanted = new Map<string, string[]>()
    const unclear = new Set<string>()
    for (const round of fc.sample(fc.array(spot, { minLength: names.length, maxLength: names.length }), 8)) {
      const places: Record<string, Position> = {}
      for (const [i, name] of names.entries()) {
        const [corner, east, north] = round[i]!
        // Most steps stay around a corner, where there is something to cross.
        places[name] = placeOf(i % 3 === 0 ? corner : i % CORNERS.length, east, north)
      }
      await world.move(places)
      for (const name of names)
        for (const hook of Object.keys(holds)) {
          const key = `${hook} ${name}`
          const [before, now] = [at.get(name), places[name]!]
          const was = before !== undefined && holds[hook]!(before)
          const is = holds[hook]!(now)
          const told: string[] = []
          const tellsAll = hook !== 'box'
          if (is && !was) told.push('entered')
          if (is && tellsAll) told.push('inside')
          if (!is && was) told.push('exited')
          if (tellsAll && !is && !was && before !== undefined) {
            const center = CORNERS[Number(hook.slice(1))]!
            if (distance(before, center) <= 5000 && distance(now, center) <= 5000) {
              const ring = rings.get(hook)
              const depth =
                ring === undefined
                  ? RADIUS - nearestOnPath(before, now, center)
                  : crossedMeters(ring, before, now)
              // A touch of a corner may be missed.
              if (depth !== 0 && Math.abs(depth) < 1) unclear.add(key)
              if (depth > 0) told.push('crossed')
            }
          }
          wanted.set(key, [...(wanted.get(key) ?? []), ...told])
        }
      for (const name of names) at.set(name, places[name]!)
    }
    const crossings = { c: 0, p: 0 }
    for (const hook of Object.keys(holds)) {
      const all = [...wanted].filter(([key]) => key.startsWith(`${hook} `))
      const count = all.reduce((sum, [key, told]) => sum + (unclear.has(key) ? 0 : told.length), 0)
      const messages = await world.reader.messages(hook, count)
      for (const [key, told] of all) {
        if (unclear.has(key)) continue
        const [, name] = key.split(' ')
        const mine = messages.filter(({ user }) => user.deviceId === name)
        t.strictSame(words(mine), told, key)
        if (hook !== 'box')
          crossings[hook[0] as 'c' | 'p'] += told.filter((word) => word === 'crossed').length
      }
      for (const message of messages) {
        t.match(message, {
          user: { userId: `user of ${message.user.deviceId}` },
          locationAccuracy: 5,
          live: false,
        })
        if (message.type === 'user.crossed_area') t.ok(message.entered.at <= message.exited.at)
      }
    }
    t.ok(
      crossings.c > 0 && crossings.p > 0,
      `crossings of circles and polygons: ${JSON.stringify(crossings)}`,
    )
  },
)

/** The smallest distance of a path that is straight in degrees, the short way round, by many points on it. */
function nearestOnPath([lonA, latA]: Position, [lonB, latB]: Position, center: Position): number {
  const turn = turnOf(lonA, lonB)
  let nearest = Infinity
  for (let i = 0; i <= 2000; i++) {
    const share = i / 2000
    nearest = Math.min(nearest, distance([lonA + share * turn, latA + share * (latB - latA)], center))
  }
  return nearest
}

t.test('property: roaming pairs equal a look at all pairs', { skip }, async (t) => {
  const world = await World.start(t)
  const meters = 120
  await world.put('all', { roam: { meters } })
  await world.put('one', { roam: { meters }, deviceIds: ['d1'], detect: 'nearby' })
  await world.put('user', { roam: { meters }, userIds: ['user of d2'] })
  const names = Array.from({ length: 14 }, (_, i) => `d${i}`)
  const at = new Map<string, Position>()
  const near = new Set<string>()
  const wanted: string[] = []
  for (const [, ...spots] of fc.sample(fc.array(spot, { minLength: 15, maxLength: 15 }), 8)) {
    // One device after the other would take a second each. Those that move together are at different corners.
    const places: Record<string, Position> = {}
    for (const [i, name] of names.entries()) {
      const [, east, north] = spots[i]!
      places[name] = placeOf(i % CORNERS.length, east / 2, north / 2)
    }
    for (let group = 0; group * CORNERS.length < names.length; group++) {
      const moving = names.slice(group * CORNERS.length, (group + 1) * CORNERS.length)
      await world.move(Object.fromEntries(moving.map((name) => [name, places[name]!])))
      for (const name of moving) at.set(name, places[name]!)
      for (const one of at.keys())
        for (const other of at.keys()) {
          if (one >= other) continue
          const key = `${one} ${other}`
          const isNear = distance(at.get(one)!, at.get(other)!) <= meters
          if (isNear === near.has(key)) continue
          wanted.push(`${isNear ? 'nearby' : 'faraway'} ${key}`)
          if (isNear) near.add(key)
          else near.delete(key)
        }
    }
  }
  t.ok(wanted.length > 20, `${wanted.length} messages`)
  const textOf = ({ type, user, other }: Json) =>
    `${type.replace('user.', '')} ${[user.deviceId, other.user.deviceId].toSorted().join(' ')}`
  const all = await world.reader.messages('all', wanted.length)
  t.strictSame(all.map(textOf).toSorted(), wanted.toSorted())
  for (const pair of new Set(wanted.map((text) => text.replace(/^\w+ /, '')))) {
    const of = (text: string) => text.endsWith(` ${pair}`)
    t.strictSame(all.map(textOf).filter(of), wanted.filter(of), `the order of ${pair}`)
  }
  for (const message of all) {
    const [one, other] = [message.location.coordinates, message.other.location.coordinates]
    t.ok(Math.abs(distance(one, other) - message.distance) < 0.1)
    t.equal(message.other.user.userId, `user of ${message.other.user.deviceId}`)
  }
  const ones = wanted.filter((text) => text.startsWith('nearby') && text.split(' ').includes('d1'))
  t.strictSame((await world.reader.messages('one', ones.length)).map(textOf).toSorted(), ones.toSorted())
  const users = wanted.filter((text) => text.split(' ').includes('d2'))
  t.strictSame((await world.reader.messages('user', users.length)).map(textOf).toSorted(), users.toSorted())
})

t.test(
  'what changes while a server is gone is told: kill -9, FLUSHDB, a restart of Tile38',
  { skip },
  async (t) => {
    const world = await World.start(t)
    const HERE: Position = [13.4132, 52.5219]
    const FAR: Position = [13.5, 52.6]
    await world.move({ a: HERE, b: FAR })
    await world.put('area', { area: { type: 'circle', center: HERE, radius: 100 } })
    await world.put('roam', { roam: { meters: 100 } })
    t.strictSame(world.reader.got, [], 'who is there already has not entered')
    const told: string[] = []
    const agrees = async (...more: string[]) => {
      told.push(...more)
      const texts = (await world.reader.messages('area', told.length)).map(
        ({ type, user }) => `${user.deviceId} ${type}`,
      )
      t.strictSame(texts.toSorted(), told.toSorted(), more.join())
    }
    const met: string[] = []
    const meets = async (...more: string[]) => {
      met.push(...more)
      t.strictSame(words(await world.reader.messages('roam', met.length)), met)
    }
    await world.move({ b: HERE })
    await agrees('b user.entered_area')
    await meets('nearby')

    // The update is acknowledged, and the server dies before Tile38 has it.
    await world.server.api('POST', '/v1/track', {
      deviceId: 'b',
      longitude: FAR[0],
      latitude: FAR[1],
      accuracy: 5,
    })
    await world.server.kill9()
    await world.server.restart()
    await agrees('b user.exited_area')
    await meets('faraway')

    await world.tile38.ask('FLUSHDB')
    await world.move({ b: HERE, a: FAR })
    await agrees('b user.entered_area', 'a user.exited_area')
    await world.move({ a: HERE })
    await agrees('a user.entered_area')
    await meets('nearby')

    await world.tile38.kill9()
    await until(async () => (await world.hook('area')).status === 'failing')
    t.match(await world.hook('area'), { reason: 'Tile38 is not connected.' })
    await world.server.api('POST', '/v1/track', {
      deviceId: 'a',
      longitude: FAR[0],
      latitude: FAR[1],
      accuracy: 5,
    })
    world.tile38.wipe()
    await world.tile38.start()
    await agrees('a user.exited_area')
    await meets('faraway')
    await until(async () => (await world.hook('area')).status === 'active')

    // A user who is deleted has not left. Nothing is told while a hook is off, nor later.
    t.equal((await world.server.api('DELETE', '/v1/users/b')).status, 200)
    await world.copied()
    await world.put('area', { enabled: false, area: { type: 'circle', center: HERE, radius: 100 } })
    await world.move({ a: HERE })
    await world.put('area', { area: { type: 'circle', center: HERE, radius: 100 } })
    await world.move({ a: FAR })
    await agrees('a user.exited_area')
    t.match(await world.hook('area'), { status: 'active', pending: 0 })

    // The kind of a hook changes: it begins anew, as a hook of events.
    await world.put('area', { geofence: { tag: 'shop' } })
    const shop = { description: 'x', type: 'circle', coordinates: HERE, radius: 100 }
    t.equal((await world.server.api('PUT', '/v1/geofences/shop/1', shop)).status, 200)
    await world.move({ a: HERE })
    await agrees('a user.entered_geofence')
  },
)
