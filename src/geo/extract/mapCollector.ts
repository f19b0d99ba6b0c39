/** Makes the features of a map from the objects of an extract. */
import type { Position } from '../../model/geofence.ts'
import { BRIDGE, LINK, ONEWAY, TUNNEL } from '../mapFile/block.ts'
import { kindNumber } from '../mapFile/kinds.ts'
import { pointInside, type Rings } from '../records/areas.ts'
import { isCoastline, mapAreaOf, mapLineOf, mapPointOf, type MapObject } from '../records/mapObjects.ts'
import type { Tags } from '../records/tags.ts'
import { ringsInOrder, type MapLabels, type MapWriter } from '../mapFile/mapWriter.ts'
import type { ShapedWay, ShapeSink } from './shapeAssembler.ts'

const LAKE_NAME = kindNumber('water lake point')

export class MapCollector implements ShapeSink {
  readonly #out: MapWriter
  readonly #coastlines: (readonly Position[])[] = []

  constructor(out: MapWriter) {
    this.#out = out
  }

  /** The coastlines. Each has land on its left. */
  get coastlines(): readonly (readonly Position[])[] {
    return this.#coastlines
  }

  node(_: number, position: Position, tags: Tags): void {
    const point = mapPointOf(tags)
    if (point !== undefined) this.#out.add(labelsOf(point), [[position]])
  }

  way({ tags, line, isRing }: ShapedWay): void {
    if (isCoastline(tags) && line.length > 1) this.#coastlines.push(line)
    const found = mapLineOf(tags)
    if (found !== undefined) {
      if (line.length > 1) this.#out.add(labelsOf(found), [line])
    } else if (isRing) this.#addArea(tags, [line], [])
  }

  relation(_: number, tags: Tags, outer: Rings, inner: Rings): void {
    if (tags.get('type') === 'multipolygon') this.#addArea(tags, outer, inner)
  }

  #addArea(tags: Tags, outer: Rings, inner: Rings): void {
    const area = mapAreaOf(tags)
    if (area === undefined) return
    const rings = ringsInOrder(outer, inner)
    const { name, names, ...labels } = labelsOf(area)
    this.#out.add(labels, rings)
    if (name !== undefined) this.#out.add({ kind: LAKE_NAME, flags: 0, name, names }, [[pointInside(rings)]])
  }
}

function labelsOf({ kind, name, names, ref, population, ...is }: MapObject): MapLabels {
  const flags =
    (is.isLink ? LINK : 0) |
    (is.isTunnel ? TUNNEL : 0) |
    (is.isBridge ? BRIDGE : 0) |
    (is.isOneway ? ONEWAY : 0)
  return { kind: kindNumber(kind), flags, name, names, ref, population }
}
