/** An engine whose updates move trips as its rows are told, without a courier. */
import type { Intake } from '../../src/actor/port.ts'
import type { FeedRow } from '../../src/actor/feedTable.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { HostTrips } from '../../src/trips/hostTrips.ts'
import { drawTripId, TripDelivery } from '../../src/trips/tripDelivery.ts'
import { tripJobs } from '../../src/trips/tripJobs.ts'
import { aGeofence, NOON, SALT, World } from '../actor/kit.ts'
import { directoryOf } from './crashKit.ts'
import { engineWithTrips, tripsOf } from './tripKit.ts'

/** The name of a trip. */
export const NAME = 'order'
const HOME = { tag: 'store', externalId: 'home' }

export function scene() {
  const clock = new ManualClock(NOON)
  const world = new World(clock)
  world.put(aGeofence(1, HOME))
  const directory = directoryOf(world, clock)
  const engine = engineWithTrips({ partitions: 1, clock, world })
  const { host } = engine
  const store = { partitions: 1, salt: SALT }
  /** How many bytes each command would take in a message to another process. */
  const sent: number[] = []
  const intake: Pick<Intake, 'execute'> = {
    execute(kind, args, bytes) {
      sent.push(Buffer.byteLength(JSON.stringify(kind.encode(args))))
      return host.execute(kind, args, bytes)
    },
  }
  const delivery = new TripDelivery({
    intake,
    trips: new HostTrips(() => [host], { registry: world, clock }),
    directory,
    registry: world,
    ways: { measure: async () => undefined },
    store,
    clock,
  })
  /** The row of an update at the destination, whose options name the trip. */
  const update = async (externalId = NAME): Promise<FeedRow> => {
    clock.advance(20_000)
    const tripOptions = { externalId, destination: HOME }
    await engine.track(engine.update({ deviceId: 'phone', latitude: 0, longitude: 0, tripOptions }))
    const [row] = engine.partitions[0]!.feed.takeFresh()
    return row!
  }
  /** What a process leaves that ends between the name of a trip and the trip. */
  const reserve = async () => {
    clock.advance(20_000)
    const draw = () => drawTripId(store, clock, NAME, undefined)
    return directory.edit(() => directory.reserve(0, NAME, undefined, draw))
  }
  const statuses = () => tripsOf(engine.partitions).map(({ status }) => status)
  return { clock, world, directory, engine, delivery, sent, update, reserve, statuses }
}

/**
 * The jobs over the trips of a scene, which keep trips for 90 days and their locations for 7.
 * @param aheadMs how far their clock is ahead of that of the scene
 * @returns runs the job of that name once
 */
export function jobsOf({ clock, world, directory, engine }: ReturnType<typeof scene>, aheadMs = 0) {
  const jobs = tripJobs({
    hosts: () => [engine.host],
    registry: {
      revision: world.revision,
      scope: (scope) => world.scope(scope),
      trips: directory,
      scopes: [0],
    },
    clock: { now: () => clock.now() + aheadMs },
    tripsDays: 90,
    tripLocationsDays: 7,
  })
  return (name: string) => jobs.find((job) => job.name === name)!.run(new AbortController().signal)
}
