import { join } from 'node:path'
import t from 'tap'
import { NodeStore } from '../../src/geo/extract/nodeStore.ts'
import { osmPbfBlobs } from '../../src/geo/extract/osmPbfBlobs.ts'
import { writeOsmPbf, type OsmExtract } from '../../src/geo/extract/osmPbfWriter.ts'
import { readObjects, type ObjectSink } from '../../src/geo/extract/osmReader.ts'
import fc from '../kit/fastCheck.ts'
import { temporaryFolder } from './kit.ts'

const numRuns = 50 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)
const ids = fc.integer({ min: 1, max: 2 ** 44 })
const texts = fc.string({ unit: 'grapheme', maxLength: 12 })
const tags = fc.dictionary(texts, texts, { maxKeys: 4 })
const degrees = (most: number) =>
  fc.integer({ min: -most * 1e7, max: most * 1e7 }).map((units) => units / 1e7)
const byId = { selector: ({ id }: { id: number }) => id, maxLength: 20 }
const extracts = fc.record({
  nodes: fc.uniqueArray(fc.record({ id: ids, longitude: degrees(180), latitude: degrees(90), tags }), byId),
  ways: fc.uniqueArray(fc.record({ id: ids, nodes: fc.array(ids, { maxLength: 8 }), tags }), byId),
  relations: fc.uniqueArray(
    fc.record({
      id: ids,
      members: fc.array(
        fc.record({
          type: fc.constantFrom('node' as const, 'way' as const, 'relation' as const),
          id: ids,
          role: texts,
        }),
        { maxLength: 5 },
      ),
      tags,
    }),
    byId,
  ),
})

t.test('the objects of a file are those that were written', async (t) => {
  const path = join(temporaryFolder(t), 'any.osm.pbf')
  await fc.assert(
    fc.asyncProperty(extracts, async (drawn) => {
      const sorted = <One extends { id: number }>(all: readonly One[]) => all.toSorted((a, b) => a.id - b.id)
      const extract = {
        nodes: sorted(drawn.nodes),
        ways: sorted(drawn.ways),
        relations: sorted(drawn.relations),
      }
      writeOsmPbf(path, extract)
      t.strictSame(plain(await read(path)), plain(extract))
    }),
    { numRuns },
  )
})

t.test('bytes that are no block are refused, and never hang', async (t) => {
  const ignore: ObjectSink = { node() {}, way() {}, relation() {} }
  const path = join(temporaryFolder(t), 'any.osm.pbf')
  let blocks: Uint8Array[] = []
  let refused = 0
  await fc.assert(
    fc.asyncProperty(
      extracts,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      async (extract, changes) => {
        writeOsmPbf(path, extract)
        blocks = []
        for await (const { type, content } of osmPbfBlobs(path, () => {}))
          if (type === 'OSMData') blocks.push(Uint8Array.from(content))
        for (const block of blocks) {
          for (const [place, byte] of changes) block[place % block.length] = byte
          try {
            readObjects(block, ignore)
          } catch (error) {
            refused++
            t.ok(error instanceof Error && !(error instanceof TypeError), String(error))
          }
        }
      },
    ),
    { numRuns },
  )
  t.ok(refused > 0)
})

t.test('positions of nodes, whatever their order', async (t) => {
  const node = fc.tuple(fc.nat(500), degrees(180), degrees(90))
  fc.assert(
    fc.property(fc.array(node, { maxLength: 200 }), (nodes) => {
      const store = new NodeStore()
      for (const [id, longitude, latitude] of nodes) store.add(id, longitude, latitude)
      const last = new Map(nodes.map(([id, ...position]) => [id, position]))
      for (let id = 0; id <= 500; id++) t.strictSame(plain(store.positionOf(id)), plain(last.get(id)))
    }),
    { numRuns },
  )
})

async function read(path: string): Promise<OsmExtract> {
  const extract = { nodes: [] as object[], ways: [] as object[], relations: [] as object[] }
  const object = (own: ReadonlyMap<string, string> = new Map()) => Object.fromEntries(own)
  for await (const { type, content } of osmPbfBlobs(path, () => {})) {
    if (type !== 'OSMData') continue
    readObjects(content, {
      node: (id, longitude, latitude, own) =>
        extract.nodes.push({ id, longitude, latitude, tags: object(own) }),
      way: (id, nodes, own) => extract.ways.push({ id, nodes: [...nodes], tags: object(own) }),
      relation: (id, members, own) => extract.relations.push({ id, members, tags: object(own) }),
    })
  }
  return extract as unknown as OsmExtract
}

/** Without prototypes and negative zeros. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}
