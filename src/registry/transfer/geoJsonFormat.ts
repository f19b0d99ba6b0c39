import { present, type Fields } from '../../http/fields.ts'
import { parseJson } from '../../http/jsonStructure.ts'
import { badParam } from '../../runtime/errors.ts'
import type { ColumnRules } from './csvColumns.ts'
import { readFeatures, type FeatureRow } from './featureReader.ts'
import type { FileFormat, RowReader } from './fileFormat.ts'
import { beginningOf } from './beginningOf.ts'
import type { RefusedRow } from './importHistory.ts'

/** Properties that other programs may write as numbers. */
const TEXTS = ['tag', 'externalId', 'description'] as const

type Members = Readonly<Record<string, unknown>>

/** A FeatureCollection (RFC 7946) as an export writes it, or as maps and other programs do. */
export const GEO_JSON: FileFormat<FeatureRow> = {
  name: 'GeoJSON',
  opening: 'body',
  read: readFeatures,
  begin: (_first, rules) => ({ reader: new FeatureFields(rules), isRow: true }),
}

/** Reads a feature as the fields of a geofence. */
class FeatureFields implements RowReader<FeatureRow> {
  readonly #known: readonly string[]
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })

  constructor({ known }: ColumnRules) {
    this.#known = known
  }

  problemOf({ bytes }: FeatureRow): string | undefined {
    try {
      this.#decoder.decode(bytes)
      return undefined
    } catch {
      return 'The feature contains bytes that are not valid UTF-8.'
    }
  }

  fieldsOf(row: FeatureRow): Fields {
    const feature = this.#parse(row)
    if (feature?.['type'] !== 'Feature') throw badParam('type', 'It must be a GeoJSON Feature.')
    const properties = membersOf(feature['properties']) ?? {}
    const fields: Record<string, unknown> = {}
    for (const name of this.#known) {
      const value = present(properties, name)
      if (value !== undefined) fields[name] = value
    }
    fields['externalId'] ??= feature['id']
    fields['description'] ??= properties['name']
    for (const name of TEXTS) if (typeof fields[name] === 'number') fields[name] = String(fields[name])
    return { ...fields, ...areaOf(fields, membersOf(feature['geometry']), properties) }
  }

  refusal(row: FeatureRow, number: number, message: string, param?: string): RefusedRow {
    const refused = { line: row.line, row: number, column: param, message }
    const value = param === undefined ? undefined : membersOf(this.#parse(row)?.['properties'])?.[param]
    if (value === undefined) return refused
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return { ...refused, value: beginningOf(text) }
  }

  /** The members of a feature; undefined if it is not JSON, or not an object. */
  #parse({ bytes }: FeatureRow): Members | undefined {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
    try {
      return membersOf(parseJson(text, 'feature'))
    } catch (error) {
      if (error instanceof SyntaxError) return undefined
      throw error
    }
  }
}

/** The area in the form of a definition. The properties of an export contain those of circles and isochrones. */
function areaOf(fields: Members, geometry: Members | undefined, properties: Members): Fields {
  const kind = geometry?.['type']
  const type = fields['type'] ?? (kind === 'Point' ? 'circle' : 'polygon')
  if (type === 'polygon') {
    const coordinates = geometry === undefined ? undefined : ringOf(geometry)
    return { type, ...(coordinates !== undefined && { coordinates }) }
  }
  const isochrone = membersOf(properties['isochrone'])
  const center =
    type === 'isochrone'
      ? isochrone?.['destination']
      : membersOf(properties['geometryCenter'])?.['coordinates']
  const point = kind === 'Point' ? flat(geometry!['coordinates']) : undefined
  const coordinates = fields['coordinates'] ?? center ?? point
  const radius =
    fields['radius'] ?? (type === 'isochrone' ? isochrone?.['minutes'] : properties['geometryRadius'])
  return { type, ...(coordinates !== undefined && { coordinates }), ...(radius !== undefined && { radius }) }
}

/**
 * The only ring of a polygon.
 * @throws {ApiError} 400 if it has more than one
 */
function ringOf({ type, coordinates }: Members): unknown {
  let rings = coordinates
  if (type === 'MultiPolygon' && Array.isArray(rings)) {
    if (rings.length !== 1)
      throw badParam(
        'geometry',
        `It has ${rings.length} polygons, and a geofence has one: make a feature of each.`,
      )
    rings = rings[0]
  } else if (type !== 'Polygon')
    throw badParam('geometry', 'It must be a Polygon, or a Point with the property radius.')
  if (!Array.isArray(rings) || rings.length !== 1) {
    const count = Array.isArray(rings) ? rings.length : 0
    throw badParam('geometry', `The polygon has ${count} rings. A geofence has one, without holes.`)
  }
  return Array.isArray(rings[0]) ? rings[0].map(flat) : rings[0]
}

/** A position without its height. */
function flat(position: unknown): unknown {
  return Array.isArray(position) && position.length > 2 ? position.slice(0, 2) : position
}

function membersOf(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}
