import { parse } from 'csv-parse/sync'
import type { GeofenceDefinition } from './api.ts'

const NUMBERS = new Set(['radius', 'dwellThreshold'])
const BOOLEANS = new Set(['enabled', 'stopDetection'])
const JSON_TEXTS = new Set(['coordinates', 'metadata', 'operatingHours'])

/**
 * The geofences of an import CSV: a row each, columns named as the fields of a geofence, `metadata.{key}` and
 * `operatingHours.{day}` too. Empty cells are absent fields. Whether a definition is right is the server's to say;
 * a row without tag or externalId, and a cell that is no number, boolean or JSON where its column wants one, throw.
 */
export function parseGeofenceCsv(text: string): GeofenceDefinition[] {
  const rows = parse<Record<string, string>>(text, {
    bom: true,
    columns: true,
    skip_empty_lines: true,
    trim: true,
  })
  return rows.map((row, i) => definitionOf(row, i + 2))
}

function definitionOf(row: Record<string, string>, line: number): GeofenceDefinition {
  const { tag, externalId } = row
  if (!tag || !externalId) throw new Error(`Row ${line}: tag and externalId are needed.`)
  const definition: Record<string, unknown> = {}
  for (const [column, cell] of Object.entries(row)) {
    if (cell === '') continue
    const [field, key] = splitOnce(column)
    try {
      if (key === undefined) definition[field] = valueOf(field, cell)
      else {
        const group = (definition[field] ??= {}) as Record<string, unknown>
        group[key] = field === 'operatingHours' ? JSON.parse(cell) : cell
      }
    } catch (cause) {
      throw new Error(`Row ${line}, column ${column}: cannot read ${JSON.stringify(cell)}.`, { cause })
    }
  }
  return { ...definition, tag, externalId }
}

/** `metadata.color` is the field `metadata` and the key `color`. */
function splitOnce(column: string): [field: string, key: string | undefined] {
  const dot = column.indexOf('.')
  return dot < 0 ? [column, undefined] : [column.slice(0, dot), column.slice(dot + 1)]
}

function valueOf(field: string, cell: string): unknown {
  if (JSON_TEXTS.has(field)) return JSON.parse(cell)
  if (NUMBERS.has(field)) {
    const number = Number(cell)
    if (Number.isNaN(number)) throw new Error('not a number')
    return number
  }
  if (BOOLEANS.has(field)) {
    if (!/^(true|false)$/i.test(cell)) throw new Error('neither true nor false')
    return cell.toLowerCase() === 'true'
  }
  return cell
}
