/** Files as users import them, good ones and others. */
import type { Arbitrary } from 'fast-check'
import fc from '../kit/fastCheck.ts'
import { MARK } from './placeholders.ts'
import { HOSTILE_TEXTS } from './schema.ts'
import { HINTS, position, ring, UUIDS } from './values.ts'

const cell = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'shop',
      'x-1',
      'x-2',
      MARK,
      'circle',
      'polygon',
      '10',
      '50',
      '100',
      'true',
      '',
    ),
  },
  { weight: 2, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
)
const COLUMNS = [
  'description',
  'tag',
  'externalId',
  'type',
  'coordinates',
  'latitude',
  'longitude',
  'radius',
  'metadata.mark',
  'operatingHours.Mon',
  'enabled',
  'userId',
  'uuid',
  'major',
  'minor',
  'uid',
  'instance',
  'nonsense',
]
const anyTable = fc
  .tuple(
    fc.subarray(COLUMNS, { minLength: 1 }),
    fc.array(fc.array(cell, { maxLength: 19 }), { maxLength: 8 }),
    fc.boolean(),
  )
  .map(([columns, rows, quoted]) =>
    [columns, ...rows]
      .map((row) => row.map((text) => (quoted ? `"${text.replaceAll('"', '""')}"` : text)).join())
      .join(quoted ? '\r\n' : '\n'),
  )
const goodTable = (columns: string, kind: string) =>
  fc
    .array(
      fc
        .tuple(position, HINTS.externalId!, HINTS.radius!)
        .map(
          ([[lon, lat], id, radius]) =>
            `${MARK},shop,${String(id)},"[${lon},${lat}]",${kind},${String(radius)}`,
        ),
      { maxLength: 8 },
    )
    .map((rows) => [`description,tag,externalId,coordinates,enabled,${columns}`, ...rows].join('\n'))
/** Features as other programs write them. */
const features = fc
  .array(
    fc.tuple(
      fc.record({
        tag: HINTS.tag!,
        externalId: HINTS.externalId!,
        name: fc.constantFrom(MARK, 'plain'),
        radius: HINTS.radius!,
      }),
      fc.oneof(
        position.map((coordinates) => ({ type: 'Point', coordinates })),
        ring.map((corners) => ({ type: 'Polygon', coordinates: [corners] })),
      ),
    ),
    { maxLength: 8 },
  )
  .map((rows) =>
    JSON.stringify({
      type: 'FeatureCollection',
      features: rows.map(([properties, geometry]) => ({ type: 'Feature', properties, geometry })),
    }),
  )

const tables = {
  geofence: fc.oneof(goodTable('type,radius', 'circle'), anyTable),
  beacon: fc.oneof(goodTable('type,uuid,minor,major', `ibeacon,${UUIDS[0]},1`), anyTable),
}

/** Contents of a file for an import. */
export function filesFor(path: string, contentType: string): Arbitrary<string> {
  if (contentType.endsWith('+json')) return features
  return tables[path.includes('beacon') ? 'beacon' : 'geofence']
}
