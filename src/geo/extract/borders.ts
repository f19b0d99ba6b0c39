/**
 * The SQLite file that tells the builder of routing tiles the country and the time zone of a node.
 *
 * Valhalla makes such a file from the boundary relations of the extract. But an extract of a part of a country does
 * not have the country's whole boundary, so the country is not found, and without a country people are assumed to
 * drive on the left. So this file is made from boundaries that are always available (boundaries.ts). They are written
 * as an extract with nothing else in it, because `valhalla_build_admins` writes geometry in a form that no library
 * here writes, and adds what it knows about countries by their names (who may use which kind of path). What it only
 * knows by other names is corrected afterwards: the driving side of each country, and the zones, which are moved into
 * the table in which the tile builder looks for them.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { boundaryExtract, countriesIn, zones, type CountryBoundary, type ZoneAt } from './boundaries.ts'
import type { Coverage } from './coverage.ts'
import { writeOsmPbf } from './osmPbfWriter.ts'
import type { BoundingBox } from './port.ts'
import { runTool } from './valhallaTools.ts'

/** For how many node ids there is room at first. The room grows; the default would take half a gigabyte. */
const NODE_IDS = 100_000
/** The prefix of names that distinguishes a zone from a country. */
const ZONE = 'zone '

/**
 * Creates the file.
 * @param path the path of the file
 * @param folder a folder for temporary files
 * @throws {ValhallaMissing} {@link ToolFailed}
 */
export async function buildBorders(
  {
    bounds,
    coverage,
    zoneAt,
  }: { readonly bounds: BoundingBox; readonly coverage: Coverage; readonly zoneAt: ZoneAt },
  path: string,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const extract = join(folder, 'borders.osm.pbf')
  const countries = countriesIn(bounds)
  writeOsmPbf(extract, boundaryExtract([...countries, ...zones(coverage, zoneAt, ZONE)]))
  rmSync(path, { force: true })
  const logging = { type: 'std_out', color: false }
  const config = { mjolnir: { admin: path, id_table_size: NODE_IDS, logging } }
  const args = ['--inline-config', JSON.stringify(config), extract]
  await runTool('valhalla_build_admins', args, { folder, signal, onLine: () => {} })
  rmSync(extract)
  putRight(path, countries)
}

function putRight(path: string, countries: readonly CountryBoundary[]): void {
  const database = new Database(path)
  try {
    // The file is never opened for writing again, so it only matters that its content is right at the end.
    database.pragma('synchronous = OFF')
    database.transaction(() => {
      const side = database.prepare('UPDATE admins SET drive_on_right = ? WHERE name = ?')
      for (const { name, drivesOnRight } of countries) side.run(drivesOnRight ? 1 : 0, name)
      moveZones(database)
    })()
  } finally {
    database.close()
  }
}

/**
 * Creates the table as `spatialite_tool` and CreateSpatialIndex do in Valhalla's own script,
 * `valhalla_build_timezones`.
 */
function moveZones(database: Database.Database): void {
  const isZone = `substr(name, 1, ${ZONE.length}) = '${ZONE}'`
  database.exec(`
    CREATE TABLE tz_world (TZID TEXT, geom MULTIPOLYGON);
    INSERT INTO tz_world (rowid, TZID, geom)
      SELECT rowid, substr(name, ${ZONE.length + 1}), geom FROM admins WHERE ${isZone};
    CREATE VIRTUAL TABLE idx_tz_world_geom USING rtree(pkid, xmin, xmax, ymin, ymax);
    INSERT INTO idx_tz_world_geom SELECT * FROM idx_admins_geom WHERE pkid IN (SELECT rowid FROM tz_world);
    INSERT INTO geometry_columns
      SELECT 'tz_world', f_geometry_column, geometry_type, coord_dimension, srid, spatial_index_enabled
      FROM geometry_columns WHERE f_table_name = 'admins';
    DELETE FROM admins WHERE ${isZone};
  `)
}
