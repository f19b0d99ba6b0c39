import { Readable } from 'node:stream'
import { CsvColumns } from '../src/registry/transfer/csvColumns.ts'
import { readCsv } from '../src/registry/transfer/csvReader.ts'
import type { Fields } from '../src/http/fields.ts'
import { GEOFENCE_COLUMNS } from '../src/registry/transfer/importKinds.ts'

/** The rows of a geofence import file as an import reads them, without checking their rules. */
export async function readGeofenceFile(bytes: Uint8Array): Promise<Fields[]> {
  let columns: CsvColumns | undefined
  const fields: Fields[] = []
  for await (const rows of readCsv(Readable.from([bytes]))) {
    for (const { cells } of rows) {
      if (columns === undefined) columns = new CsvColumns(cells, GEOFENCE_COLUMNS)
      else fields.push(columns.fields(cells))
    }
  }
  return fields
}
