/**
 * Live positions of devices whose partitions other processes have: src/cluster/gateway/remotePositions.ts and
 * positionServer.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { HostPositions } from '../../src/actor/hostPositions.ts'
import { HostUsers } from '../../src/users/hostUsers.ts'
import type { Intake, LivePosition, Positions, Users } from '../../src/actor/port.ts'
import { PositionServer } from '../../src/cluster/owner/positionServer.ts'
import { RemotePositions } from '../../src/cluster/gateway/remotePositions.ts'
import type { Position } from '../../src/model/geofence.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { Engine, HERE, NOON, removeRecord, SALT } from '../actor/kit.ts'
import { Random } from '../actor/world.ts'
import { update } from './contract.ts'
import {
  FAIR,
  fixedWorld,
  gatewayOf,
  outcome,
  PARTITIONS,
  serverOf,
  SharedLogs,
  SharedMemorySnapshots,
  SimulatedCalls,
  track,
} from './kit.ts'
import { positionsContract, SCOPE } from './positionsContract.ts'

const DEVICES = 20
const ABOUT = { kind: 'circle', center: [HERE.longitude, HERE.latitude], radius: 1000 } as const

/** Two owners without partitions, and a gateway that watches. */
function openRemote(t: Test) {
  const calls = new SimulatedCalls(new Random(1), FAIR)
  const world = fixedWorld()
  const clock = new ManualClock(NOON)
  const logs = new SharedLogs()
  const snapshots = new SharedMemorySnapshots()
  const owners = [0, 1].map(() => {
    const owner = serverOf(
      calls,
      { world, clock },
      { snapshots, openLog: async (n, fencedOut) => logs.open(n, fencedOut) },
    )
    const troubled = (error: Error) => t.fail(error.message)
    const partitions = () =>
      owner.hosts.map((host) => ({
        number: host.partitions[0]!.number,
        positions: new HostPositions(host),
      }))
    const served = new PositionServer({ calls, partitions, isLive: () => true, troubled })
    served.start()
    t.teardown(() => served.stop())
    const acquire = owner.acquire.bind(owner)
    owner.acquire = async (n) => {
      const epoch = await acquire(n)
      served.came()
      return epoch
    }
    return owner
  })
  const positions = new RemotePositions({ calls, gateway: 'g', partitions: PARTITIONS, giveUpMs: 700 })
  t.teardown(() => positions.stop())
  return { owners, gateway: gatewayOf(calls, world), positions, clock }
}

/** Moves and removes devices of an engine. */
function movesOf(positions: Positions, engine: { intake: Intake; users: Users; clock: ManualClock }) {
  const { intake, users, clock } = engine
  return {
    positions,
    async move(deviceId: string, [longitude, latitude]: Position) {
      clock.advance(1000)
      outcome(await track(intake, update({ clock }, deviceId, { latitude, longitude })))
    },
    async remove(deviceId: string) {
      const found = await users.ask({ scope: SCOPE, ask: 'user', id: deviceId })
      await removeRecord(intake, found.users[0]!.id, SCOPE)
    },
  }
}

const settle = async (isTrue: () => boolean) => {
  while (!isTrue()) await sleep(5)
}

positionsContract(
  t,
  'in this process',
  async () => {
    const { host, world, clock } = new Engine()
    const users = new HostUsers(() => [host], { salt: SALT, registry: world, clock })
    return movesOf(new HostPositions(host), { intake: host, users, clock })
  },
  settle,
)

positionsContract(
  t,
  'over NATS',
  async (test) => {
    const { owners, gateway, positions, clock } = openRemote(test)
    for (let n = 0; n < PARTITIONS; n++) await owners[n % 2]!.acquire(n)
    return movesOf(positions, { intake: gateway, users: gateway, clock })
  },
  settle,
)

t.test('positions have their records while somebody reads them', async (t) => {
  const { owners, gateway, positions, clock } = openRemote(t)
  for (let n = 0; n < PARTITIONS; n++) await owners[n % 2]!.acquire(n)
  const told: LivePosition[] = []
  const observer = {
    wantsRecords: false,
    moved: (position: LivePosition) => void told.push(position),
    removed() {},
  }
  const move = async (metadata: { readonly n: number }) => {
    clock.advance(1000)
    outcome(await track(gateway, { ...update({ clock }, 'd', HERE), metadata }))
    await settle(() => told.length > 0)
    return told.splice(0).at(-1)
  }
  const look = async (wantsRecords: boolean) => {
    let found: LivePosition | undefined
    await positions.look(0, ABOUT, {
      isEnded: false,
      wantsRecords,
      found: (position) => void (found = position),
      pause() {},
    })
    return found
  }
  positions.observer = observer
  await sleep(50)
  t.notMatch(await move({ n: 1 }), { metadata: {} }, 'nobody reads them')
  observer.wantsRecords = true
  positions.observer = observer
  await sleep(50)
  t.match(await move({ n: 2 }), { metadata: { n: 2 }, geofenceIds: [] })
  t.match(await look(true), { metadata: { n: 2 }, geofenceIds: [] })
  t.notMatch(await look(false), { metadata: {} })
  positions.observer = undefined
})

t.test('a gateway receives positions and searches for them while partitions move', async (t) => {
  const { owners, gateway, positions, clock } = openRemote(t)
  const look = async () => {
    const found = new Map<string, LivePosition>()
    const viewer = {
      isEnded: false,
      found: (position: LivePosition) => void found.set(position.deviceId, position),
      pause() {},
    }
    await positions.look(0, ABOUT, viewer)
    return found
  }
  await t.rejects(look(), { code: 503 }, 'nobody has the partitions')
  for (let n = 0; n < PARTITIONS; n++) await owners[n % 2]!.acquire(n)
  const move = async (i: number, latitude: number) => {
    clock.advance(1000)
    outcome(await track(gateway, update({ clock }, `d${i}`, { ...HERE, latitude })))
  }
  for (let i = 0; i < DEVICES; i++) await move(i, HERE.latitude + (i < 15 ? 0 : 1))
  const found = await look()
  t.strictSame([...found.keys()].toSorted(), Array.from({ length: 15 }, (_, i) => `d${i}`).toSorted())
  t.match(found.get('d3'), {
    scope: 0,
    latitude: HERE.latitude,
    longitude: HERE.longitude,
    updatedAt: Number,
  })

  const told = new Map<string, number>()
  const removed: string[] = []
  positions.observer = {
    moved: ({ deviceId, latitude }) => void told.set(deviceId, latitude),
    removed: (_scope, deviceId) => void removed.push(deviceId),
  }
  await sleep(20)
  for (let i = 0; i < DEVICES; i++) await move(i, HERE.latitude + i / 1000)
  const isTold = (shift: number) =>
    Array.from({ length: DEVICES }, (_, i) => told.get(`d${i}`) === HERE.latitude + shift + i / 1000).every(
      Boolean,
    )
  while (!isTold(0)) await sleep(5)
  const { users } = await gateway.ask({ scope: 0, ask: 'user', id: 'd1' })
  t.ok(await removeRecord(gateway, users[0]!.id))
  while (removed.length === 0) await sleep(5)
  t.strictSame(removed, ['d1'])

  await owners[0]!.release(0)
  await owners[1]!.acquire(0)
  for (let i = 0; i < DEVICES; i++) await move(i, HERE.latitude + 0.5 + i / 1000)
  while (!isTold(0.5)) await sleep(5)
  t.pass('of the partition that moved, too')
  positions.observer = undefined
  for (const [n, owner] of owners.entries()) {
    for (let partition = 0; partition < PARTITIONS; partition++) await owner.release(partition)
    await owner.stop()
    t.strictSame(owner.hosts, [], `owner ${n}`)
  }
})
