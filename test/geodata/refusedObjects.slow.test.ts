/**
 * Extracts with objects that make the routing engine's builder crash without naming them. The import leaves them out
 * and names them.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  writeOsmPbf,
  type OsmExtract,
  type OsmNode,
  type OsmTags,
} from '../../src/geo/extract/osmPbfWriter.ts'
import { readManifest, readRecord, mapRegionsFolder } from '../../src/geo/extract/mapRegionFiles.ts'
import { QUEENS, region, streets, temporaryFolder } from './kit.ts'

type Extract = { -readonly [Part in keyof OsmExtract]: OsmExtract[Part] }

const whole = streets(QUEENS)
const way = (tags: OsmTags): Partial<Extract> => ({
  ways: [...whole.ways, { id: 1000, nodes: [1, 2, 11], tags: { highway: 'residential', ...tags } }],
})
const relation = (tags: OsmTags): Partial<Extract> => ({
  relations: [
    {
      id: 7,
      members: [
        { type: 'way', id: 1, role: 'from' },
        { type: 'node', id: 1, role: 'via' },
        { type: 'way', id: 101, role: 'to' },
      ],
      tags,
    },
  ],
})
const node = (change: Partial<OsmNode>): Partial<Extract> => ({
  nodes: whole.nodes.map((one) => (one.id === 30 ? { ...one, ...change } : one)),
})
const nul = /one of its texts has a NUL character\.$/m
const noNumber = /one of its tags has no number where the routing engine expects one\.$/m
const outOfRange = /its latitude or longitude is out of range\.$/m
const tooLong = /it has a text of more than 1,024 bytes\.$/m

/** Each makes the builder of Valhalla 3.6.1 crash. */
const CASES: readonly (readonly [what: string, extract: Partial<Extract>, object: string, reason: RegExp])[] =
  [
    ['a NUL in a value of a way', way({ name: 'a\0b' }), 'way 1000', nul],
    ['a NUL in a key of a way', way({ 'na\0me': 'b' }), 'way 1000', nul],
    ['a NUL in a tag of a node', node({ tags: { highway: 'traf\0fic' } }), 'node 30', nul],
    [
      'a NUL in a tag of a relation',
      relation({ type: 'restriction', restriction: 'no\0' }),
      'relation 7',
      nul,
    ],
    [
      'connectivity with a restriction',
      relation({ type: 'connectivity', restriction: 'x' }),
      'relation 7',
      noNumber,
    ],
    [
      'a probability that is no number',
      relation({ type: 'restriction', 'restriction:probable': 'no_left_turn @ probability=abc' }),
      'relation 7',
      noNumber,
    ],
    ['a long name of a way', way({ name: 'n'.repeat(1025) }), 'way 1000', tooLong],
    ['a long value of a node', node({ tags: { note: 'n'.repeat(1025) } }), 'node 30', tooLong],
    ['a latitude of 95 degrees', node({ latitude: 95 }), 'node 30', outOfRange],
    ['a longitude of 200 degrees', node({ longitude: 200 }), 'node 30', outOfRange],
    [
      'a road around the world',
      {
        nodes: [
          ...whole.nodes,
          ...[60, 179, -60].map((longitude, i) => ({ id: 900 + i, longitude, latitude: 10, tags: {} })),
        ],
        ways: [...whole.ways, { id: 1000, nodes: [1, 900, 901, 902], tags: { highway: 'primary' } }],
      },
      'way 1000',
      /it has a stretch that is too long for the routing engine\.$/m,
    ],
  ]

for (const [what, extract, object, reason] of CASES) {
  t.test(`${what}: the import continues without it`, async (t) => {
    const folder = temporaryFolder(t)
    const path = join(folder, 'x.osm.pbf')
    writeOsmPbf(path, { ...whole, ...extract })
    const data = join(folder, 'data')
    const { code, output } = await region('import', path, '--data', data)
    t.equal(code, 0, output)
    t.match(
      output,
      new RegExp(`^The region is without ${object}, which the routing engine cannot read: `, 'm'),
    )
    t.match(output, reason)
    t.equal(output.match(/^The region is without/gm)?.length, 1, output)
    t.match(output, /The region x is ready/)
    const regions = mapRegionsFolder(data)
    const { regions: built } = readManifest(regions)
    t.match(readRecord(join(regions, built[0]!.folder)), { name: 'x' })
    t.strictSame(readdirSync(join(regions, built[0]!.folder)).toSorted(), [
      'coverage.bin',
      'map',
      'places',
      'region.json',
      'routing',
    ])
  })
}

t.test('several, of several kinds, in an extract of several blocks', async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'x.osm.pbf')
  const extra = Array.from({ length: 9000 }, (_, i) => ({
    id: 1000 + i,
    nodes: [1 + (i % 60), 2 + (i % 60)],
    tags: { highway: 'service', name: i % 4000 === 17 ? 'a\0b' : 'Lane' },
  }))
  writeOsmPbf(path, {
    nodes: whole.nodes.map((one) => (one.id === 9 || one.id === 50 ? { ...one, latitude: -120 } : one)),
    ways: [...whole.ways, ...extra],
    ...relation({ type: 'connectivity', restriction: 'x' }),
  } as OsmExtract)
  const { code, output } = await region('import', path, '--data', join(folder, 'data'))
  t.equal(code, 0, output)
  t.strictSame(
    output.match(/(?<=^The region is without )\w+ \d+/gm)?.toSorted(),
    ['node 50', 'node 9', 'relation 7', 'way 1017', 'way 5017', 'way 9017'],
    output,
  )
})

t.test('a file with nothing else is refused', async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'x.osm.pbf')
  writeOsmPbf(path, {
    ...whole,
    ways: whole.ways.flatMap((one) =>
      [0, 1, 2].map((copy) => ({ ...one, id: one.id * 10 + copy, tags: { ...one.tags, name: 'a\0b' } })),
    ),
  })
  const { code, output } = await region('import', path, '--data', join(folder, 'data'))
  t.equal(code, 1)
  t.match(
    output,
    /has more than 20 objects that the routing engine cannot read\. For example way \d+: one of its texts has a NUL/,
  )
  t.strictSame(
    readdirSync(mapRegionsFolder(join(folder, 'data'))).filter((name) => name.includes('x')),
    [],
  )
})
