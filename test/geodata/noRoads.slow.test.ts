/** An extract without usable roads, for which the builder reads uninitialised memory. */
import { join } from 'node:path'
import t from 'tap'
import { writeOsmPbf } from '../../src/geo/extract/osmPbfWriter.ts'
import { NoRoads, runBuilder } from '../../src/geo/extract/tileBuilder.ts'
import { progress } from '../kit/waiting.ts'
import { temporaryFolder } from './kit.ts'

/** One run in twenty ends by a signal, without any message about the cause. */
const RUNS = 60

t.test('however the builder ends, the message says that there are no roads', async (t) => {
  for (let run = 0; run < RUNS; run++) {
    const folder = temporaryFolder(t)
    const extract = join(folder, 'planned.osm.pbf')
    const nodes = [1, 2].map((id) => ({ id, longitude: id / 1000, latitude: 47, tags: {} }))
    const ways = [{ id: 1, nodes: [1, 2], tags: { highway: 'proposed' } }]
    writeOsmPbf(extract, { nodes, ways, relations: [] })
    const { signal } = new AbortController()
    await t.rejects(runBuilder({ extract, folder, threads: 2, signal, onLine() {} }), NoRoads)
    progress()
  }
})
