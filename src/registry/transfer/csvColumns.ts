import { checkKey } from '../../http/cleanValue.ts'
import { OperatingHoursError, parseOperatingHours } from '../../model/operatingHours.ts'
import { ApiError, badParam } from '../../runtime/errors.ts'
import { parseJsonText, type Fields } from '../../http/fields.ts'
import { hoursField } from '../geofences/geofenceFields.ts'
import { metadataField } from '../records/recordFields.ts'
import type { CsvRow } from './csvReader.ts'
import type { RowReader } from './fileFormat.ts'
import { beginningOf } from './beginningOf.ts'
import type { RefusedRow } from './importHistory.ts'

/** The columns that the header of an import file may and must have. */
export interface ColumnRules<Name extends string = string> {
  /** All plain columns. `metadata` and `operatingHours` may also be given by key, as in `metadata.{key}`. */
  readonly known: readonly Name[]
  readonly required: readonly string[]
  /** Columns of which at least one is required. */
  readonly oneOf?: readonly string[]
}

/** Fields that may be in one column as JSON, or in a column for each key, with their readers. */
const DICTIONARIES: ReadonlyMap<string, (fields: Fields) => unknown> = new Map<
  string,
  (fields: Fields) => unknown
>([
  ['metadata', metadataField],
  ['operatingHours', hoursField],
])

/** How many columns a file may have. Nobody has as many keys of metadata, and it limits the cost of a row. */
const MAX_COLUMNS = 1000

interface Column {
  /** The name in the header. */
  readonly name: string
  readonly field: string
  /** The key, for a column of one key of a dictionary. */
  readonly key: string | undefined
}

/** The columns of an import file, in order: turns the cells of a row into the fields of a definition. */
export class CsvColumns implements RowReader<CsvRow> {
  readonly #columns: readonly Column[]

  /**
   * Reads the header.
   * @param header the names
   * @throws {ApiError} 400 naming the column that is unknown, repeated, without a name, in conflict or missing
   */
  constructor(header: readonly string[], rules: ColumnRules) {
    if (header.length > MAX_COLUMNS) {
      throw badParam('header', `It has ${header.length} columns; at most ${MAX_COLUMNS}.`)
    }
    this.#columns = header.map((name, i) => toColumn(name, i, rules))
    const names = new Set<string>()
    for (const { name } of this.#columns) {
      if (names.has(name)) throw badParam(name, 'The column appears twice in the header.')
      names.add(name)
    }
    for (const { name, field, key } of this.#columns) {
      if (key !== undefined && names.has(field)) {
        throw badParam(name, `The columns ${field} and ${name} cannot be combined.`)
      }
    }
    this.#checkDays()
    const fields = new Set(this.#columns.map(({ field }) => field))
    for (const name of rules.required) if (!fields.has(name)) throw badParam(name, 'The column is required.')
    const { oneOf } = rules
    if (oneOf !== undefined && !oneOf.some((name) => fields.has(name))) {
      throw badParam(oneOf[0]!, `One of the columns ${oneOf.join(', ')} is required.`)
    }
  }

  get count(): number {
    return this.#columns.length
  }

  /**
   * Why the cells of a row cannot be read at all. Returned, not thrown: throwing would take ten times as long in a file
   * full of such rows.
   */
  problemOf({ cells, damaged }: CsvRow): string | undefined {
    const { count } = this
    if (cells.length !== count) return `The row has ${cells.length} cells, the header ${count}.`
    return damaged ? 'The row contains bytes that are not valid UTF-8.' : undefined
  }

  /**
   * The report about a row that was refused.
   * @param row below the header, counted from 1
   * @param param the field that breaks a rule; undefined for the row as a whole
   */
  refusal({ cells, line }: CsvRow, row: number, message: string, param?: string): RefusedRow {
    const column = param && this.blamed(cells, param)
    const value = column === undefined ? undefined : this.cell(cells, column)
    return { line, row, column, message, value: value && beginningOf(value) }
  }

  fieldsOf({ cells }: CsvRow): Fields {
    return this.fields(cells)
  }

  /**
   * The fields of a row. An empty cell is an absent field.
   * @throws {ApiError} 400 naming the column that should be JSON and is not
   */
  fields(cells: readonly string[]): Fields {
    const fields: Record<string, unknown> = {}
    for (let i = 0; i < this.#columns.length; i++) {
      const cell = cells[i]!
      if (cell === '') continue
      const { name, field, key } = this.#columns[i]!
      if (key === undefined) {
        fields[field] = cell
      } else {
        // It has no prototype, because a key may have the name of one of its members.
        const dictionary = (fields[field] ??= Object.create(null)) as Record<string, unknown>
        dictionary[key] = valueOf(name, field, cell)
      }
    }
    return fields
  }

  /**
   * The column because of which a row is refused; if the field has a column for each key, the first that is refused
   * by itself. Only the cell is read for that, not the row, because a file may have a thousand such columns.
   * @param param the field that breaks a rule, or the part within its JSON
   */
  blamed(cells: readonly string[], param: string): string {
    const read = DICTIONARIES.get(param)
    if (read === undefined) return this.#has(param) ? param : param.split('.', 1)[0]!
    for (const [i, { name, field, key }] of this.#columns.entries()) {
      const cell = cells[i]!
      if (field !== param || key === undefined || cell === '') continue
      try {
        read({ [param]: { [key]: valueOf(name, field, cell) } })
      } catch (alone) {
        if (alone instanceof ApiError) return name
        throw alone
      }
    }
    return param
  }

  #has(name: string): boolean {
    return this.#columns.some((column) => column.name === name)
  }

  /** The cell of a column; undefined if the file has no such column. */
  cell(cells: readonly string[], name: string): string | undefined {
    return cells[this.#columns.findIndex((column) => column.name === name)]
  }

  /** Checks days, because two columns may name the same day differently. */
  #checkDays(): void {
    const days = this.#columns.filter(({ field, key }) => field === 'operatingHours' && key !== undefined)
    for (let i = 0; i < days.length; i++) {
      try {
        parseOperatingHours(Object.fromEntries(days.slice(0, i + 1).map(({ key }) => [key, []])))
      } catch (error) {
        if (!(error instanceof OperatingHoursError)) throw error
        throw badParam(days[i]!.name, error.message)
      }
    }
  }
}

function toColumn(name: string, index: number, { known }: ColumnRules): Column {
  if (name === '') throw badParam('header', `Column ${index + 1} has no name.`)
  const dot = name.indexOf('.')
  const field = dot < 0 ? name : name.slice(0, dot)
  const isKnown = known.includes(field)
  if (isKnown && dot < 0) return { name, field, key: undefined }
  if (isKnown && dot + 1 < name.length && DICTIONARIES.has(field)) {
    const key = name.slice(dot + 1)
    checkKey([field, key])
    return { name, field, key }
  }
  const shown = name.length > 100 ? `${name.slice(0, 100)}…` : name
  const separator = /[;\t|]/.test(name) ? ' Columns are separated by commas.' : ''
  const right = known.find((one) => one.toLowerCase() === field.toLowerCase())
  const hint = right === undefined || right === field ? '' : ` It must be written ${right}.`
  throw badParam(
    shown,
    `Unknown column.${separator}${hint} Known columns: ${known.map(described).join(', ')}.`,
  )
}

function described(field: string): string {
  if (field === 'metadata') return 'metadata or metadata.{key}'
  return field === 'operatingHours' ? 'operatingHours or operatingHours.{day}' : field
}

/** The value of a column for one key of a dictionary. */
function valueOf(name: string, field: string, cell: string): unknown {
  return field === 'operatingHours' ? parseJsonText(name, cell, 'the JSON list of [open, close] pairs') : cell
}
