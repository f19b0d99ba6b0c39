/** What the fault suite expects of the locations of a trip, written from the page, against the trail of the product. */
import t from 'tap'
import { Trail } from '../../src/trips/trail.ts'
import { Courier, Messenger } from '../clusterFaults/couriers.ts'

t.test('a trip of more than 5,000 locations is thinned as expected', async (t) => {
  const courier = new Courier('courier-0')
  const trail = new Trail()
  const counts = new Map<number, number>()
  for (let sent = 1; sent <= 42_918; sent++) {
    const { latitude, longitude, updatedAt } = courier.next().body
    courier.applied()
    const point = { time: Date.parse(String(updatedAt)), latitude, longitude }
    if (!trail.wants(point)) t.fail(`the update ${sent} is too near to the last one`)
    trail.add(point)
    counts.set(sent, courier.trip!.locations.length)
  }
  // What a soak of an hour has found.
  t.equal(counts.get(4999), 4999)
  t.equal(counts.get(5000), 3750)
  t.equal(counts.get(9029), 4029)
  t.equal(counts.get(42_918), 4168)
  t.strictSame(
    courier.trip!.locations,
    [...trail].map(({ time }) => new Date(time).toISOString()),
  )
})

t.test('each trip of a messenger begins with no location of the one before', async (t) => {
  const messenger = new Messenger('messenger-0', 0, 4)
  const counts: number[] = []
  const names = new Set<string>()
  for (let sent = 0; sent < 31; sent++) {
    messenger.applied()
    counts.push(messenger.trip!.locations.length)
    names.add(messenger.trip!.externalId)
  }
  t.strictSame([counts[0], counts[14], counts[15], counts[29], counts[30]], [1, 15, 1, 15, 1])
  t.equal(names.size, 3)
})
