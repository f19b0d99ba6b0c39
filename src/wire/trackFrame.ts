import Type from 'typebox'
import { Name } from '../http/schemas.ts'
import { Validator } from '../http/validate.ts'
import { ANONYMOUS } from '../model/device.ts'
import { TrackBody, updateFrom, type Stamp } from './trackSchema.ts'
import type { Update } from '../model/update.ts'
import { ApiError, badParam } from '../runtime/errors.ts'

/** How many updates one frame may have. */
const MAX_UPDATES = 1000

const SEQUENCE_MAX = Number.MAX_SAFE_INTEGER

/** The message `track`. Its updates are checked one by one, so that an error in one does not affect the others. */
const TrackMessage = Type.Object({
  id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  updates: Type.Array(Type.Any(), { minItems: 1, maxItems: MAX_UPDATES }),
  events: Type.Optional(Type.Boolean()),
  stream: Type.Optional(Name(64)),
  sequence: Type.Optional(Type.Integer({ minimum: 0, maximum: SEQUENCE_MAX - MAX_UPDATES })),
})

const frames = new Validator(TrackMessage)
const bodies = new Validator(TrackBody)

/** An invalid update of a frame. */
export interface UpdateRefusal {
  /** Its index in the frame. */
  readonly index: number
  readonly error: ApiError
}

/** A decoded message whose fields are not checked yet. */
type Message = Readonly<Record<string, unknown>>

/** A parsed frame of updates. */
export interface TrackFrame {
  readonly id: number
  /** Whether its acknowledgement should contain the events. */
  readonly wantsEvents: boolean
  readonly updates: readonly Update[]
  /** The indexes of {@link updates} in the frame; absent if these are all updates of the frame in order. */
  readonly indexes?: readonly number[]
  readonly refusals?: readonly UpdateRefusal[]
}

/**
 * The number of a frame.
 * @throws {ApiError} 400
 */
export function frameId({ id }: Message): number {
  if (id === undefined || id === null) throw badParam('id', 'Required.')
  if (!Number.isSafeInteger(id) || (id as number) < 1)
    throw badParam('id', 'Must be a whole number, at least 1.')
  return id as number
}

/**
 * Reads a frame whose updates are not checked yet.
 * @throws ApiError 400 for errors that concern the whole frame
 */
export function readTrack(message: Message, stamp: Stamp): TrackFrame {
  frames.check(message)
  const { id, updates: items, events, stream, sequence } = message as Type.Static<typeof TrackMessage>
  if ((stream === undefined) !== (sequence === undefined))
    throw badParam(
      stream === undefined ? 'stream' : 'sequence',
      'stream and sequence must be given together.',
    )
  const updates: Update[] = []
  const indexes: number[] = []
  const refusals: UpdateRefusal[] = []
  for (let index = 0; index < items.length; index++) {
    try {
      updates.push(readUpdate(items[index], stamp, stream, (sequence ?? 0) + index))
      indexes.push(index)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      refusals.push({ index, error })
    }
  }
  const wantsEvents = events ?? false
  return refusals.length === 0
    ? { id, wantsEvents, updates }
    : { id, wantsEvents, updates, indexes, refusals }
}

function readUpdate(item: unknown, stamp: Stamp, stream: string | undefined, sequence: number): Update {
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    throw badParam('update', 'Must be an object.')
  const body = item as TrackBody
  bodies.check(body)
  if (stream !== undefined && body.stream === undefined && body.sequence === undefined) {
    body.stream = stream
    body.sequence = sequence
  }
  // Without stored state, there is nothing to stream.
  if (body.deviceId === ANONYMOUS) throw badParam('deviceId', `Must not be ${ANONYMOUS} on a stream.`)
  return updateFrom(body, stamp)
}
