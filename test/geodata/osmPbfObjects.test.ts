/** Extracts in parts: what remains of an extract when the import leaves out objects. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ExtractParts } from '../../src/geo/extract/extractParts.ts'
import { osmPbfBlobs } from '../../src/geo/extract/osmPbfBlobs.ts'
import { objectsIn, withOnly } from '../../src/geo/extract/osmPbfObjects.ts'
import { writeOsmPbf, type OsmExtract } from '../../src/geo/extract/osmPbfWriter.ts'
import fc from '../kit/fastCheck.ts'
import { QUEENS, streets, temporaryFolder } from './kit.ts'

const numRuns = 30 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)
const whole = streets(QUEENS)

t.test('a block with some of its objects', async (t) => {
  const path = join(temporaryFolder(t), 'x.osm.pbf')
  const tags = fc.dictionary(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }),
    fc.string({ maxLength: 5 }),
    { maxKeys: 3 },
  )
  const degrees = fc.double({ min: -200, max: 200, noNaN: true })
  const extracts = fc.record({
    nodes: fc.array(fc.record({ latitude: degrees, longitude: degrees, tags }), {
      minLength: 1,
      maxLength: 9,
    }),
    ways: fc.array(fc.record({ nodes: fc.array(fc.nat(2 ** 40), { maxLength: 4 }), tags }), { maxLength: 9 }),
    relations: fc.array(
      fc.record({
        tags,
        members: fc.array(
          fc.record({ type: fc.constant('way' as const), id: fc.nat(2 ** 40), role: fc.string() }),
        ),
      }),
      { maxLength: 5 },
    ),
  })
  const blocks = async (extract: OsmExtract): Promise<Uint8Array[]> => {
    writeOsmPbf(path, extract)
    const found: Uint8Array[] = []
    for await (const { type, content } of osmPbfBlobs(path, () => {}))
      if (type === 'OSMData') found.push(content)
    return found
  }
  const numbered = <One>(list: readonly One[]): (One & { id: number })[] =>
    list.map((one, i) => ({ ...one, id: 3 * i + 1 }))
  await fc.assert(
    fc.asyncProperty(extracts, fc.nat(), async (drawn, mask) => {
      const isKept = (_: unknown, i: number): boolean => ((mask >> (i % 30)) & 1) === 1
      const extract = {
        nodes: numbered(drawn.nodes),
        ways: numbered(drawn.ways),
        relations: numbered(drawn.relations),
      }
      // The obvious way: the extract is written without them from the start.
      const fewer = await blocks({
        nodes: extract.nodes.filter(isKept),
        ways: extract.ways.filter(isKept),
        relations: extract.relations.filter(isKept),
      })
      const expected = fewer.map((content) => objectsIn(content)).filter((objects) => objects.length > 0)
      const all = await blocks(extract)
      const kept = all.map((content) =>
        withOnly(content, new Set([...objectsIn(content).keys()].filter((i) => isKept(0, i)))),
      )
      t.strictSame(
        kept.map((content) => objectsIn(content)).filter((objects) => objects.length > 0),
        expected,
      )
    }),
    { numRuns },
  )
})

t.test('parts of a file: together they are the whole file', async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'x.osm.pbf')
  writeOsmPbf(path, whole)
  const parts = await ExtractParts.of(path, new AbortController().signal)
  await parts.write(join(folder, 'same'), parts.blocks)
  t.ok(readFileSync(path).equals(readFileSync(join(folder, 'same'))))
  writeFileSync(path, '')
  await t.rejects(parts.write(join(folder, 'same'), parts.blocks), /has become shorter/)
})
