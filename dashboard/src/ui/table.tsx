import type { ComponentChildren } from 'preact'

export interface Column<T> {
  readonly title: string
  readonly cell: (row: T) => ComponentChildren
  /**
   * `number` for numbers, which are aligned to the right; `cut` for long texts, which are shortened; `long` for those that are read
   * whole, in several lines if they must be.
   */
  readonly kind?: 'number' | 'cut' | 'long'
  /** Left out on narrow screens, and beside a map. */
  readonly wide?: boolean
  /** Left out on phones alone. */
  readonly roomy?: boolean
}

/** Rows of records. The first cell has the link to the record. */
export function Table<T>(props: {
  readonly caption: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  readonly selected?: string | undefined
  readonly onPoint?: (row: T | undefined) => void
}) {
  const { caption, columns, rows, keyOf, selected, onPoint } = props
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={caption}>
      <table class="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, kind, wide, roomy }) => (
              <th key={title} scope="col" class={classOf(kind, wide, roomy)}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={keyOf(row)}
              data-row
              aria-selected={selected === undefined ? undefined : keyOf(row) === selected}
              onMouseEnter={onPoint && (() => onPoint(row))}
              onMouseLeave={onPoint && (() => onPoint(undefined))}
            >
              {columns.map(({ title, kind, wide, roomy, cell }) => (
                <td key={title} class={classOf(kind, wide, roomy)}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function classOf(kind = '', wide = false, roomy = false): string {
  return `${kind} ${wide ? 'wide' : ''} ${roomy ? 'roomy' : ''}`
}
