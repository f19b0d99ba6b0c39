/** Records of a megabyte: many of them in one file or call are written some at a time, and what is refused is not kept. */
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { answeredWith } from '../../src/http/route.ts'
import { Upload } from '../../src/http/upload.ts'
import { GEOFENCES } from '../../src/registry/geofences/geofenceEntity.ts'
import { bulkRoutes } from '../../src/registry/records/bulkRoutes.ts'
import { openRegistry, type Registry } from '../../src/registry/registry.ts'
import { CsvColumns } from '../../src/registry/transfer/csvColumns.ts'
import { CSV } from '../../src/registry/transfer/csvFormat.ts'
import { geofenceImports, GEOFENCE_COLUMNS } from '../../src/registry/transfer/importKinds.ts'
import { importFile } from '../../src/registry/transfer/importRun.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { KEYS } from '../kit/server.ts'
import { NO_AREAS } from './areaFinders.ts'

const SCOPE = 2
const COUNT = 12
const HEADER = 'description,type,coordinates,radius,tag,externalId,userIds\n'
const USERS = Array.from({ length: 5000 }, (_, i) => `user-${i}-${'x'.repeat(100)}`).join(',')
const FILE =
  HEADER + Array.from({ length: COUNT }, (_, i) => `Long,circle,"[1,2]",100,long,${i},"${USERS}"\n`).join('')

function open(t: Test): Registry {
  const registry = openRegistry({
    folder: t.testdir({}),
    clock: systemClock,
    createIndex: createGeofenceIndex,
    firstKeys: KEYS,
  })
  t.teardown(() => registry.close())
  return registry
}

/** By how much a number changes at most from one turn of the event loop to the next, while something is done. */
async function largestStep(work: () => Promise<unknown>, look: () => number): Promise<number> {
  let largest = 0
  let before = look()
  const turn = () => {
    largest = Math.max(largest, Math.abs(look() - before))
    before = look()
    handle = setImmediate(turn)
  }
  let handle = setImmediate(turn)
  await work()
  clearImmediate(handle)
  return Math.max(largest, Math.abs(look() - before))
}

t.test('an import, a change and a deletion of long records have a transaction for each', async (t) => {
  const registry = open(t)
  const { geofences } = registry
  const { records } = geofences.store(SCOPE)
  const kind = geofenceImports(geofences, NO_AREAS)
  const chunks = Readable.from([Buffer.from(FILE)])
  const imported = () => importFile(registry, { scope: SCOPE, kind, format: CSV, chunks })
  t.equal(await largestStep(imported, () => records.size), 1)
  t.equal(records.size, COUNT)

  const routes = answeredWith(bulkRoutes(GEOFENCES as never), { collection: geofences as never })
  const call = (method: string, body: object) => {
    const { handler } = routes.find((route) => route.method === method)!
    const query = { tag: 'long', expectedCount: COUNT }
    return (handler as unknown as (given: object) => Promise<unknown>)({
      credentials: { scope: SCOPE },
      query,
      body,
    })
  }
  const changed = () =>
    [...geofences.store(SCOPE).inOrder()].filter(({ dwellThreshold }) => dwellThreshold === 7).length
  t.equal(await largestStep(() => call('PATCH', { dwellThreshold: 7 }), changed), 1)
  t.equal(changed(), COUNT)
  t.equal(
    await largestStep(
      () => call('DELETE', {}),
      () => records.size,
    ),
    1,
  )
  t.equal(records.size, 0)
})

t.test('what is told of a refused value does not keep its cell in memory', async (t) => {
  const columns = new CsvColumns(HEADER.trim().split(','), GEOFENCE_COLUMNS)
  const before = process.memoryUsage().rss
  const told = Array.from({ length: 100 }, (_, i) => {
    const cells = ['x', 'circle', '[1,2]', Buffer.alloc(4_000_000, '9').toString(), 'a', 'b', '']
    return columns.refusal({ cells, line: i, size: 0, damaged: false }, i, 'radius: no', 'radius')
  })
  t.equal(told[99]!.value, '9'.repeat(100))
  const cut = columns.refusal(
    {
      cells: ['x', 'circle', '', `${'9'.repeat(99)}\u{1F600}`, '', '', ''],
      line: 1,
      size: 0,
      damaged: false,
    },
    1,
    'radius: no',
    'radius',
  )
  t.equal(cut.value, `${'9'.repeat(99)}\u{FFFD}`)
  t.ok(process.memoryUsage().rss - before < 250_000_000, 'a text keeps its whole cell otherwise: 400 MB')
})

t.test('a reader that waits for pieces of an upload gets pieces, however much has come', async (t) => {
  const upload = new Upload({ pause() {}, resume() {} } as never, 2 ** 40)
  for (let i = 0; i < 64; i++) upload.receive(new ArrayBuffer(512 * 1024), i === 63)
  let bytes = 0
  let longest = 0
  for await (const piece of upload) {
    bytes += piece.length
    longest = Math.max(longest, piece.length)
  }
  t.equal(bytes, 64 * 512 * 1024)
  t.equal(longest, 64 * 1024)
})
