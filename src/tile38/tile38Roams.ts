import type { LivePosition, RoamViewer, Roams } from '../actor/port.ts'
import { deviceHash } from '../model/deviceHash.ts'
import type { ScopeId } from '../model/scope.ts'
import { ApiError } from '../runtime/errors.ts'
import type { Fence, Tile38Channels } from './tile38Channels.ts'
import { readFenced, readReply, type FencedPosition } from './tile38Position.ts'
import type { Tile38 } from './tile38Port.ts'
import { deviceKey, deviceOf, numberText, Tile38Keys } from './tile38Texts.ts'
import { unavailable, type Tile38Wholeness } from './tile38Wholeness.ts'

/** The factor by which rectangles are widened, because Tile38 measures on a sphere, and they must not be too small. */
const REACH = 1.01
/** How many devices are looked up in one call. */
const PIPELINE = 512

/**
 * Devices near each other, from Tile38: a roaming fence of the whole collection. Whenever a device is written, it
 * tells all others in a rectangle around its new position, and those that were in the rectangle around the old one.
 * Its own judgement is not used: it takes whatever is in the rectangle for near, which at the antimeridian and at the
 * poles is a whole band of the earth.
 *
 * Owns: what the channels of roaming tell. Does not own: channels (tile38Channels.ts), who is near whom.
 */
export class Tile38Roams implements Roams {
  readonly #parts: Tile38RoamsParts
  readonly #keys: Tile38Keys

  constructor(parts: Tile38RoamsParts) {
    this.#parts = parts
    this.#keys = new Tile38Keys(parts.storeId)
  }

  get isConnected(): boolean {
    return this.#parts.tile38.isConnected
  }

  async roam(scope: ScopeId, meters: number, viewer: RoamViewer): Promise<void> {
    const { channels, wholeness } = this.#parts
    const devices = this.#keys.devices(scope)
    const fence: Fence = {
      channels: [channels.name(scope)],
      settings: [['NEARBY', devices, 'FENCE', 'ROAM', devices, '*', numberText(meters * REACH)]],
      get isEnded() {
        return viewer.isEnded
      },
      told: (message) => tell(scope, viewer, message),
      openAgain: async () => {
        await channels.listen(fence)
        viewer.interrupted()
      },
    }
    channels.add(fence)
    try {
      await channels.listen(fence)
      await wholeness.reached()
    } catch (error) {
      channels.drop(fence)
      throw this.#failure(error)
    }
  }

  async locate(scope: ScopeId, deviceIds: readonly string[]): Promise<readonly (LivePosition | undefined)[]> {
    const { tile38, wholeness, partitions } = this.#parts
    const found: (LivePosition | undefined)[] = []
    try {
      await wholeness.reached()
      for (let from = 0; from < deviceIds.length; from += PIPELINE) {
        const some = deviceIds.slice(from, from + PIPELINE)
        const keys = some.map((deviceId) => deviceKey(deviceHash(deviceId) % partitions, deviceId))
        const asked = [...keys.map((key) => this.#keys.gettingDevice(scope, key)), wholeness.question]
        const replies = await tile38.send(asked)
        // The server may have been emptied since then.
        if (!wholeness.isWhole(replies.at(-1))) throw unavailable()
        some.forEach((deviceId, i) => found.push(readReply(scope, deviceId, replies[i])))
      }
    } catch (error) {
      throw this.#failure(error)
    }
    return found
  }

  /** The error for the caller. A refusal is also logged. */
  #failure(error: unknown): ApiError {
    if (error instanceof ApiError) return error
    this.#parts.channels.report(error as Error)
    return unavailable()
  }
}

interface Tile38RoamsParts {
  readonly tile38: Tile38
  readonly storeId: string
  readonly wholeness: Tile38Wholeness
  readonly channels: Tile38Channels
  /** How many partitions the store has. */
  readonly partitions: number
}

/** A message of the channel about one command, and one other device. */
interface RoamMessage extends FencedPosition {
  readonly command: 'set' | 'del' | 'drop'
  /** The id of the device in its collection; absent if the whole collection is meant. */
  readonly id?: string
  readonly nearby?: OtherDevice
  readonly faraway?: OtherDevice
}

interface OtherDevice {
  readonly id: string
  readonly object: { readonly coordinates?: readonly number[] }
}

function tell(scope: ScopeId, viewer: RoamViewer, message: string): void {
  const told = JSON.parse(message) as RoamMessage
  const { command, id, nearby, faraway } = told
  if (id === undefined) return
  if (command === 'del') return viewer.gone(deviceOf(id))
  const other = nearby ?? faraway
  const position = readFenced(scope, deviceOf(id), told)
  const [longitude, latitude] = other?.object.coordinates ?? []
  if (other === undefined || position === undefined || longitude === undefined || latitude === undefined)
    return
  viewer.met(position, { deviceId: deviceOf(other.id), latitude, longitude })
}
