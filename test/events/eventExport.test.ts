import t from 'tap'
import { eventExportRoute } from '../../src/events/eventExport.ts'

/** How large pages of events become a file (G7). What the file says: test/e2e/eventExport.test.ts. */

const EVENTS = 60
const event = (i: number) =>
  JSON.stringify({
    _id: i.toString(16).padStart(24, '0'),
    type: 'user.entered_geofence',
    live: false,
    user: { _id: '0'.repeat(24) },
    metadata: { note: 'x'.repeat(30_000) },
  })

for (const format of ['csv', 'ndjson'] as const)
  t.test(`${format}: a page of megabytes is written in pieces, with a turn between them`, async (t) => {
    const page = Array.from({ length: EVENTS }, (_, i) => event(i))
    const index = {
      list: async () => ({ events: page, hasMore: false }),
      offsetOf: async () => undefined,
    }
    const route = eventExportRoute(index, (work) => work())
    const { stream } = (await route.handler(
      { credentials: { scope: 0 }, query: { format } } as never,
      undefined as never,
    )) as {
      stream: { chunks: AsyncIterable<string> }
    }
    let turns = 0
    let isOver = false
    const count = () => {
      turns++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const seen = new Set<number>()
    let text = ''
    let most = 0
    for await (const chunk of stream.chunks) {
      seen.add(turns)
      text += chunk
      most = Math.max(most, chunk.length)
    }
    isOver = true
    const lines = text.trim().split(/\r?\n/)
    t.equal(lines.length, format === 'csv' ? EVENTS + 1 : EVENTS)
    t.ok(most < 128 * 1024, `${most} characters in a piece`)
    t.ok(seen.size >= EVENTS / 4, `pieces in ${seen.size} turns`)
  })
