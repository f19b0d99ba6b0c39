import Type from 'typebox'
import type { Positions } from '../../actor/port.ts'
import { route, type Route } from '../../http/route.ts'
import { Name, Text } from '../../http/schemas.ts'
import { decimalOf } from '../../model/decimal.ts'
import { badParam, outOfRange } from '../../runtime/errors.ts'
import { ConcurrencyLimit } from '../../runtime/concurrencyLimit.ts'
import { LARGEST_ZOOM } from '../mapFile/grid.ts'
import { tileAddress } from '../maps/mapRoutes.ts'
import { cellsIn, densityIn, type DensityBox } from './density.ts'
import type { GeofenceTiles } from './geofenceTiles.ts'

const TILE_TYPE = 'application/vnd.mapbox-vector-tile'
/**
 * The answer may be kept, but only be used after asking whether it is still right. Caches that several people share
 * must not keep it.
 */
const CACHING = 'private, no-cache'
const MOST_CELLS = 16_384
const MAX_CELL_ZOOM = 20
/** How many counts look at all devices at a time, in turns, and how many may wait. */
const COUNTS_AT_ONCE = 2
const MOST_COUNTS_WAITING = 50

/** Changes with what tiles consist of, so that nobody keeps those of an earlier version. */
const TILE_FORM = 'g2'

/** What pages with a live map load: geofences as tiles, and the number of devices in each cell. */
export function liveMapRoutes(tiles: GeofenceTiles, positions: Positions): Route[] {
  const counts = new ConcurrencyLimit(COUNTS_AT_ONCE, MOST_COUNTS_WAITING)
  return [
    route({
      method: 'GET',
      path: '/v1/geofences/tiles/:z/:x/:y.mvt',
      auth: 'secret',
      tag: 'Geofences',
      summary: 'A vector tile of the geofences',
      description:
        'The layer `geofences` has areas. The layer `points` has a point for each area that is smaller than four pixels (of a tile of 512 pixels), and for areas beyond the first 3,000. Both layers have `_id`, ' +
        '`tag`, `externalId`, `description`, `type` and `enabled`; a point that stands for several geofences has their `count` instead. If an area lies in several tiles, it is `named` in one of them, ' +
        'which shows its label; an area that is larger than a tile is named in each. The `ETag` ' +
        'changes with the geofences: send it as `If-None-Match`. An empty tile has no bytes.',
      params: Type.Object({
        z: Text(20, 'Zoom.'),
        x: Text(20, 'Column from the west, from 0 to 2^z - 1.'),
        y: Text(20, 'Row from the north, from 0 to 2^z - 1.'),
      }),
      query: Type.Object({ tag: Type.Optional(Name(256, 'Only geofences with this tag.')) }),
      answers: { 200: Type.Object({}, { contents: { [TILE_TYPE]: Type.String({ format: 'binary' }) } }) },
      async handler({ credentials, params, query }) {
        const { scope } = credentials!
        const { content, revision } = await tiles.tile(scope, tileAddress(params, LARGEST_ZOOM), query.tag)
        return {
          bytes: { contentType: TILE_TYPE, content, etag: `${TILE_FORM}-${revision}` },
          headers: { 'Cache-Control': CACHING },
        }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/users/density',
      auth: 'secret',
      tag: 'Users',
      summary: 'Count the devices in a box by cells',
      description:
        'A cell is a tile of the map at `zoom`, with its column `x` from the west and its row `y` from the north. Cells without devices are left out. A ' +
        'device is where its latest update was.',
      query: Type.Object({
        box: Text(
          128,
          '`west,south,east,north` in degrees; if west is greater than east, it crosses the antimeridian.',
        ),
        zoom: Type.Integer({ minimum: 0, maximum: MAX_CELL_ZOOM, description: 'The zoom of the cells.' }),
      }),
      answers: {
        200: Type.Object({
          cells: Type.Array(
            Type.Object({ x: Type.Integer(), y: Type.Integer(), count: Type.Integer({ minimum: 1 }) }),
          ),
        }),
      },
      async handler({ credentials, query }) {
        const box = boxOf(query.box)
        if (cellsIn(box, query.zoom) > MOST_CELLS)
          throw badParam('zoom', `More than ${MOST_CELLS} cells are in the box. Choose a smaller zoom.`)
        const cells = await counts.run(() => densityIn(positions, credentials!.scope, box, query.zoom))
        return { body: { cells } }
      },
    }),
  ]
}

/**
 * Reads a box.
 * @throws {ApiError} 400
 */
function boxOf(text: string): DensityBox {
  const numbers = text.split(',').map((part) => decimalOf(part.trim()))
  if (numbers.length !== 4 || numbers.some((one) => Number.isNaN(one)))
    throw badParam('box', 'Must be west,south,east,north.')
  const [west, south, east, north] = numbers as [number, number, number, number]
  for (const longitude of [west, east]) if (Math.abs(longitude) > 180) throw outOfRange('box', -180, 180)
  for (const latitude of [south, north]) if (Math.abs(latitude) > 90) throw outOfRange('box', -90, 90)
  if (south >= north) throw badParam('box', 'Must be west,south,east,north, with south below north.')
  return [west, south, east, north]
}
