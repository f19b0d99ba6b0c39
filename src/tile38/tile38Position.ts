import type { LivePosition } from '../actor/port.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Tile38Command } from './tile38Port.ts'
import type { Tile38Keys } from './tile38Texts.ts'

/** A device as stored in Tile38: its point, and its other data in the feature's properties. */
interface PositionFeature {
  readonly type: 'Feature'
  readonly geometry: { readonly type: 'Point'; readonly coordinates: readonly [number, number] }
  readonly properties: {
    readonly recordId: string
    readonly userId?: string | undefined
    readonly accuracy?: number | undefined
    readonly updatedAt: number
  }
}

/** The command that writes a position for its device, whose id in the collection is given. */
export function positionCommand(keys: Tile38Keys, id: string, position: LivePosition): Tile38Command {
  const { scope, recordId, userId, latitude, longitude, accuracy, updatedAt } = position
  const feature: PositionFeature = {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [longitude, latitude] },
    properties: { recordId, userId, accuracy: Number.isNaN(accuracy) ? undefined : accuracy, updatedAt },
  }
  return ['SET', keys.devices(scope), id, 'OBJECT', JSON.stringify(feature)]
}

/** The inverse, from the object's text or parsed form; undefined if it is not one of ours. */
export function readPosition(scope: ScopeId, deviceId: string, object: unknown): LivePosition | undefined {
  const feature = (typeof object === 'string' ? parse(object) : object) as PositionFeature | null | undefined
  const [longitude, latitude] = feature?.geometry?.coordinates ?? []
  if (longitude === undefined || latitude === undefined || feature?.properties === undefined) return undefined
  const { recordId, userId, accuracy = NaN, updatedAt } = feature.properties
  return { scope, deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
