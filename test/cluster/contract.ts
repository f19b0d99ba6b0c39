import type { Test } from 'tap'
import type { UserAnswer } from '../../src/actor/port.ts'
import { CONVERSION } from '../../src/actor/conversion.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { aBeacon, aGeofence, AWAY, HERE, removeRecord } from '../actor/kit.ts'
import type { Update } from '../../src/model/update.ts'
import { outcome, track, type AnyEngine } from './kit.ts'

/** Options of an engine under test. */
export interface EngineWanted {
  readonly mailboxBytes?: number
}

/** The contract of the engine's port: what every technology must do. */
export function engineContract(
  t: Test,
  name: string,
  open: (t: Test, wanted?: EngineWanted) => Promise<AnyEngine>,
): void {
  t.test(name, async (t) => {
    t.test('an update: the user and its events, once both are durable', async (t) => {
      const engine = await withGeofence(t)
      const first = outcome(await track(engine.intake, update(engine, 'd', HERE)))
      t.match(JSON.parse(first.user), { deviceId: 'd', geofences: [{ _id: aGeofence(1).id }] })
      t.match(first.events.map(typeOf), ['user.entered_geofence'])
      t.equal(first.repeated, false)
      const second = outcome(await track(engine.intake, update(engine, 'd', HERE)))
      t.same(second.events, [])
      const third = outcome(await track(engine.intake, update(engine, 'd', AWAY), { wantsUser: false }))
      t.equal(third.user, '')
      t.match(third.events.map(typeOf), ['user.exited_geofence'])
    })

    t.test('every field of an update', async (t) => {
      const engine = await open(t)
      engine.world.putBeacon(aBeacon(1))
      const { type, uuid, major, minor } = IBEACON
      const whole: Update = {
        ...update(engine, 'dévice "1"', { latitude: -0.5, longitude: 179.25 }),
        userId: 'ann',
        installId: 'i1',
        accuracy: 12.5,
        foreground: true,
        stopped: true,
        updatedAt: engine.clock.now() - 5000,
        description: 'Ann’s van',
        metadata: JSON.parse('{"__proto__":"odd","n":-1.5,"yes":true}'),
        deviceType: 'Web',
        deviceOS: '15',
        deviceMake: 'Make',
        deviceModel: 'Model',
        source: 'GEOFENCE_EXIT',
        beacons: [{ type, uuid, major, minor }],
      }
      const { user, events } = outcome(await track(engine.intake, whole))
      t.match(JSON.parse(user), {
        deviceId: whole.deviceId,
        userId: 'ann',
        location: { coordinates: [179.25, -0.5] },
        locationAccuracy: 12.5,
        foreground: true,
        stopped: true,
        updatedAt: new Date(whole.updatedAt!).toISOString(),
        description: 'Ann’s van',
        deviceType: 'Web',
        deviceOS: '15',
        deviceMake: 'Make',
        deviceModel: 'Model',
        source: 'GEOFENCE_EXIT',
        beacons: [{ _id: aBeacon(1).id }],
      })
      t.ok(user.includes('"__proto__":"odd"'))
      t.match(events.map(typeOf), ['user.entered_beacon'])
    })

    t.test('G9: a resend is applied once', async (t) => {
      const engine = await withGeofence(t)
      const numbered = { ...update(engine, 'd', HERE), stream: 's', sequence: 7 }
      t.equal(outcome(await track(engine.intake, numbered)).events.length, 1)
      const again = outcome(await track(engine.intake, numbered))
      t.equal(again.repeated, true)
      t.same(again.events, [])
      t.equal(JSON.parse(again.user).deviceId, 'd')
    })

    t.test('a refusal keeps its code, parameter and window', async (t) => {
      const engine = await open(t)
      const limited = { rateLimited: true }
      outcome(await track(engine.intake, update(engine, 'd', HERE), limited))
      const refused = await track(engine.intake, update(engine, 'd', HERE), limited)
      t.ok(refused instanceof ApiError)
      t.match(refused, { code: 429, param: 'deviceId', type: 'second', retryAfter: 1 })
      outcome(await track(engine.intake, update(engine, 'd', HERE)))
    })

    t.test('G3: updates of many devices in one submission, each device in order', async (t) => {
      const engine = await withGeofence(t)
      const updates = Array.from({ length: 600 }, (_, i) =>
        update(engine, `d${i % 7}`, Math.floor(i / 7) % 2 === 0 ? HERE : AWAY),
      )
      const told = await new Promise<Map<Update, readonly string[]>>((resolve) => {
        const all = new Map<Update, readonly string[]>()
        engine.intake.submit(updates, 60_000, {
          rateLimited: false,
          wantsUser: false,
          wantsEvents: true,
          isBehind: false,
          applied({ events }, of) {
            all.set(of, events)
            if (all.size === updates.length) resolve(all)
          },
          refused(error) {
            throw error
          },
        })
      })
      for (const [i, one] of updates.entries()) {
        const type = Math.floor(i / 7) % 2 === 0 ? 'user.entered_geofence' : 'user.exited_geofence'
        if (told.get(one)!.map(typeOf).join() !== type) t.fail(`update ${i} made ${told.get(one)!.join()}`)
      }
      const ids = new Set([...told.values()].flat().map((json) => JSON.parse(json)._id))
      t.equal(ids.size, updates.length, 'each event has its own id')
    })

    t.test('a conversion finds the first update that came just before it', async (t) => {
      const engine = await open(t)
      const tracked = track(engine.intake, { ...update(engine, 'd', HERE), userId: 'ann' })
      const now = engine.clock.now()
      const recorded = engine.intake.execute(
        CONVERSION,
        {
          scope: 0,
          deviceId: 'd',
          userId: 'ann',
          name: 'bought',
          metadata: { n: 1 },
          createdAt: now,
          receivedAt: now,
        },
        50,
      )
      const { _id } = JSON.parse(outcome(await tracked).user)
      t.match(JSON.parse(await recorded), {
        type: 'bought',
        metadata: { n: 1 },
        user: { _id, userId: 'ann' },
      })
    })

    t.test('G7: a submission that does not fit is refused completely, and fits later', async (t) => {
      const engine = await open(t, { mailboxBytes: 8192 })
      let told = 0
      const submitter = {
        rateLimited: false,
        wantsUser: false,
        wantsEvents: false,
        isBehind: false,
        applied: () => void told++,
        refused: () => void told++,
      }
      const updates = [update(engine, 'a', HERE), update(engine, 'b', HERE)]
      t.throws(() => engine.intake.submit(updates, 100_000, submitter), { code: 503, retryAfter: 1 })
      t.throws(() => engine.intake.submitOne(updates[0]!, 100_000, submitter), { code: 503 })
      await t.rejects(
        async () =>
          engine.intake.execute(
            CONVERSION,
            { scope: 0, deviceId: 'a', name: 'n', createdAt: 0, receivedAt: 0 },
            100_000,
          ),
        { code: 503 },
      )
      outcome(await track(engine.intake, updates[1]!))
      t.equal(told, 0)
      const { users } = await engine.users.ask({ scope: 0, ask: 'user', id: 'a' })
      t.same(users, [])
    })

    t.test('queries about users', async (t) => {
      const engine = await withGeofence(t)
      engine.world.putBeacon(aBeacon(1))
      const { users, intake } = engine
      for (let i = 0; i < 9; i++) {
        engine.clock.advance(1000)
        outcome(
          await track(engine.intake, {
            ...update(engine, `d${i}`, i % 3 === 0 ? AWAY : HERE),
            userId: i < 4 ? 'ann' : undefined,
            metadata: { odd: i % 2 === 1 },
          }),
        )
      }
      const devices = ({ users: found }: UserAnswer) => found.map(({ deviceId }) => deviceId)
      const scope = 0

      const first = await users.ask({ scope, ask: 'list', list: { limit: 4 } })
      t.same(devices(first), ['d8', 'd7', 'd6', 'd5'])
      t.equal(first.hasMore, true)
      const last = first.users.at(-1)!
      const { order } = (await users.ask({ scope, ask: 'record', id: last.id })).users[0]!
      const second = await users.ask({ scope, ask: 'list', list: { after: order, limit: 5 } })
      t.same(devices(second), ['d4', 'd3', 'd2', 'd1', 'd0'])
      t.equal(second.hasMore, false)

      t.same(devices(await users.ask({ scope, ask: 'user', id: 'ann' })), ['d3'])
      t.same(devices(await users.ask({ scope, ask: 'user', id: 'd1' })), ['d1'])
      t.same(devices(await users.ask({ scope, ask: 'user', id: last.id })), ['d5'])
      const ids = [...first.users, ...second.users].map(({ id }) => id)
      const records = { scope, ask: 'records', ids: [...ids.slice(2, 6), 'nobody'] } as const
      t.same(devices(await users.ask(records)).toSorted(), ['d3', 'd4', 'd5', 'd6'])
      t.same(devices(await users.ask({ ...records, scope: 1 })), [], 'G8')
      t.same(devices(await users.ask({ scope, ask: 'lastDevice', userId: 'ann' })), ['d3'])
      const [explained] = (await users.ask({ scope, ask: 'explained', id: 'd1' })).users
      t.match(JSON.parse(explained!.explanation.join('')), { candidates: [{ outcome: 'entered' }] })
      t.equal(JSON.parse(explained!.user.join('')).deviceId, 'd1')
      const geofence = { id: aGeofence(1).id, userId: undefined, userIds: undefined }
      t.same(devices(await users.ask({ scope, ask: 'inside', geofence, limit: 2 })), ['d8', 'd7'])
      t.same(devices(await users.ask({ scope, ask: 'inRange', beaconId: aBeacon(1).id, limit: 2 })), [])
      const near = { ...HERE, radiusMeters: 1000, limit: 100, metadata: { odd: 'true' } }
      t.same(devices(await users.ask({ scope, ask: 'near', near })).toSorted(), ['d1', 'd5', 'd7'])

      for (const id of ['nobody', '0123456789abcdef01234567'])
        for (const ask of ['user', 'record', 'explained'] as const)
          t.same((await users.ask({ scope, ask, id })).users, [])
      t.same((await users.ask({ scope: 1, ask: 'list', list: { limit: 9 } })).users, [], 'G8')

      t.equal(await removeRecord(intake, last.id, 1), false, 'G8')
      t.equal(await removeRecord(intake, last.id, scope), true)
      t.equal(await removeRecord(intake, last.id, scope), false)
      t.equal(await removeRecord(intake, 'nobody', scope), false)
      t.same((await users.ask({ scope, ask: 'user', id: 'd5' })).users, [])
    })

    async function withGeofence(t: Test): Promise<AnyEngine> {
      const engine = await open(t)
      engine.world.put(aGeofence(1))
      return engine
    }
  })
}

/** The identifiers of {@link aBeacon}. */
const IBEACON = {
  type: 'ibeacon',
  uuid: 'f7826da6-4fa2-4e98-8024-bc5b71e0893e',
  major: '1',
  minor: '2',
} as const

/** An update with the current time and none of the optional fields. */
export function update(
  { clock }: Pick<AnyEngine, 'clock'>,
  deviceId: string,
  place: { readonly latitude: number; readonly longitude: number },
): Update {
  return {
    scope: 0,
    deviceId,
    ...place,
    foreground: false,
    stopped: false,
    replayed: false,
    accuracy: 5,
    receivedAt: clock.now(),
    ip: '192.0.2.1',
  }
}

function typeOf(json: string): string {
  return JSON.parse(json).type
}
