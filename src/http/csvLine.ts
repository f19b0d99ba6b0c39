/** A line of CSV with its end. Cells are data: text that a spreadsheet takes for a formula is left as it is. */
export function csvLine(cells: readonly (string | number | boolean | undefined)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

/** A cell. It is quoted unless it is certainly plain, because readers treat blanks differently. */
function csvCell(cell: string | number | boolean | undefined): string {
  const text = cell === undefined ? '' : String(cell)
  return /^[\w.:+-]*$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`
}
