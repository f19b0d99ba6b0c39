/** The bounds of what may wait to be told to trips (TRIP-FEED-2). */
import t from 'tap'
import { FrameWriter } from '../../src/actor/commitCodec.ts'
import { FeedTable, type FeedRow } from '../../src/actor/feedTable.ts'

/** A row of a device that is in so many geofences. */
function rowOf(deviceId: string, geofences: number): Omit<FeedRow, 'number'> {
  return {
    scope: 0,
    user: { id: 'f'.repeat(24), userId: 'mia', deviceId },
    update: {
      time: 1,
      receivedAt: 1,
      latitude: 1,
      longitude: 1,
      foreground: true,
      stopped: false,
      replayed: false,
      isInaccurate: false,
      inside: Array.from({ length: geofences }, (_, i) => String(i).padStart(24, '0')),
      entered: [],
      trips: ['e'.repeat(24)],
    },
  }
}

t.test('a device in ten thousand geofences does not stop the others of its partition', async (t) => {
  const feed = new FeedTable()
  const writer = new FrameWriter()
  const rows: number[] = []
  while (!feed.isFull(0, 'wide')) rows.push(feed.put(writer, rowOf('wide', 10_000)))
  t.ok(rows.length > 1 && rows.length < 10, `${rows.length} rows of it wait`)
  t.notOk(feed.isFull(0, 'other'))
  let others = 0
  for (; !feed.isFull(0, `other-${others}`); others++) feed.put(writer, rowOf(`other-${others}`, 3))
  t.ok(others > 300, `${others} of others`)
  t.ok(feed.isFull(0, 'wide'))
  feed.done(writer, rows.slice(0, 2))
  t.notOk(feed.isFull(0, 'wide'), 'it goes on when its rows are acknowledged')
})

t.test('a row of any length may wait', async (t) => {
  const feed = new FeedTable()
  const writer = new FrameWriter()
  t.notOk(feed.isFull(0, 'widest'))
  const number = feed.put(writer, rowOf('widest', 70_000))
  t.ok(feed.isFull(0, 'widest'))
  t.notOk(feed.isFull(0, 'other'))
  t.equal(feed.get(number)!.update!.inside.length, 70_000)
})
