import { badParam } from '../../runtime/errors.ts'
import { CsvColumns } from './csvColumns.ts'
import { readCsv, type CsvRow } from './csvReader.ts'
import type { FileFormat } from './fileFormat.ts'

/** The CSV format. Its first row names the columns. */
export const CSV: FileFormat<CsvRow> = {
  name: 'CSV',
  opening: 'header',
  read: readCsv,
  begin(header, rules) {
    if (header === undefined)
      throw badParam('header', 'The file is empty; its first row must name the columns.')
    if (header.damaged) throw badParam('header', 'It contains bytes that are not valid UTF-8.')
    return { reader: new CsvColumns(header.cells, rules), isRow: false }
  },
}
