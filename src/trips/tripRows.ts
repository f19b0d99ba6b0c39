import type { FrameBytes, FrameWriter } from '../actor/commitCodec.ts'
import type { ScopeId } from '../model/scope.ts'
import { LOCATION_BYTES, type Trail, type TrailPoint } from './trail.ts'
import { COURSE_MEMBERS, type Course } from './tripCourses.ts'

/**
 * The rows of a commit that are about trips.
 *
 * ```
 * PUT      kind u8 · flags u8 · [locations u32 · location*] · the trip (tripCodec.ts)
 * REMOVED  kind u8 · scope u32 · `_id`
 * MOVED    kind u8 · flags u8 · scope u32 · `_id` · the course, f64 for each member (tripCourses.ts)
 * location time f64 · latitude f64 · longitude f64
 * ```
 * Little-endian. Of the flags, CLEARED says that all locations before are gone. With WITH_LOCATIONS, MOVED adds the place
 * of its course to the locations. There are such rows in frames from version 4 on.
 */
const PUT = 1
const REMOVED = 2
const MOVED = 3
const CLEARED = 1
const WITH_LOCATIONS = 2
const PUT_BYTES = 2
const REMOVED_BYTES = 5
const ID_LENGTH = 24
const COURSE_AT = PUT_BYTES + 4 + ID_LENGTH
const MOVED_BYTES = COURSE_AT + 8 * COURSE_MEMBERS.length

/** The number of the actor type in rows (actorTypes.ts). */
export const TRIP_TYPE = 1

/** What a row says. */
export type TripRow =
  | { readonly is: 'removed'; readonly scope: ScopeId; readonly id: string }
  | {
      readonly is: 'moved'
      readonly scope: ScopeId
      readonly id: string
      readonly course: Course
      /** Whether its place is kept as a location. */
      readonly isKept: boolean
    }
  | {
      readonly is: 'put'
      /** The trip (tripCodec.ts), within the row. */
      readonly packed: Buffer
      readonly isCleared: boolean
      readonly added: readonly TrailPoint[] | undefined
    }

export function writeTripPut(
  writer: FrameWriter,
  packed: Uint8Array,
  isCleared: boolean,
  locations: Trail | readonly TrailPoint[],
): void {
  const count = locations.length
  // Most rows have no location, or one.
  const head = count === 0 ? plain : count === 1 ? withOne : Buffer.allocUnsafe(headBytes(count))
  head[0] = PUT
  head[1] = (isCleared ? CLEARED : 0) | (count === 0 ? 0 : WITH_LOCATIONS)
  if (count > 0) {
    let at = head.writeUInt32LE(count, PUT_BYTES)
    for (const { time, latitude, longitude } of locations) {
      at = head.writeDoubleLE(time, at)
      at = head.writeDoubleLE(latitude, at)
      at = head.writeDoubleLE(longitude, at)
    }
  }
  writer.actorRow({ number: TRIP_TYPE }, head, packed)
}

/** The bytes of a row before the trip. */
function headBytes(locations: number): number {
  return locations === 0 ? PUT_BYTES : PUT_BYTES + 4 + locations * LOCATION_BYTES
}

const plain = Buffer.alloc(headBytes(0))
const withOne = Buffer.alloc(headBytes(1))

export function writeTripRemoved(writer: FrameWriter, scope: ScopeId, id: string): void {
  const data = Buffer.alloc(REMOVED_BYTES + ID_LENGTH)
  data[0] = REMOVED
  data.writeUInt32LE(scope, 1)
  data.write(id, REMOVED_BYTES, 'latin1')
  writer.actorRow({ number: TRIP_TYPE }, data)
}

/**
 * Writes that a trip has another course.
 * @param isKept whether its place is kept as a location
 */
export function writeTripMoved(
  writer: FrameWriter,
  { scope, id }: { readonly scope: ScopeId; readonly id: string },
  course: Course,
  isKept: boolean,
): void {
  moved[0] = MOVED
  moved[1] = isKept ? WITH_LOCATIONS : 0
  movedView.setUint32(PUT_BYTES, scope, true)
  moved.write(id, PUT_BYTES + 4, 'latin1')
  movedView.setFloat64(COURSE_AT, course.updatedAt, true)
  movedView.setFloat64(COURSE_AT + 8, course.movedAt, true)
  movedView.setFloat64(COURSE_AT + 16, course.latitude, true)
  movedView.setFloat64(COURSE_AT + 24, course.longitude, true)
  movedView.setFloat64(COURSE_AT + 32, course.accuracy, true)
  movedView.setFloat64(COURSE_AT + 40, course.minutes, true)
  movedView.setFloat64(COURSE_AT + 48, course.meters, true)
  movedView.setFloat64(COURSE_AT + 56, course.number, true)
  movedView.setFloat64(COURSE_AT + 64, course.toldAt, true)
  writer.actorRow({ number: TRIP_TYPE }, moved)
}

const moved = Buffer.alloc(MOVED_BYTES)
const movedView = new DataView(moved.buffer, moved.byteOffset, moved.byteLength)

function readCourse(buffer: Buffer, at: number): Course {
  const course: Record<string, number> = {}
  COURSE_MEMBERS.forEach((name, i) => (course[name] = buffer.readDoubleLE(at + 8 * i)))
  return course as unknown as Course
}

/** @throws if the row is of a kind that this release does not know */
export function readTripRow({ buffer }: FrameBytes, at: number, end: number): TripRow {
  const kind = buffer[at]
  if (kind === REMOVED) {
    const id = buffer.toString('latin1', at + REMOVED_BYTES, at + REMOVED_BYTES + ID_LENGTH)
    return { is: 'removed', scope: buffer.readUInt32LE(at + 1), id }
  }
  if (kind === MOVED) {
    const isKept = (buffer[at + 1]! & WITH_LOCATIONS) !== 0
    const scope = buffer.readUInt32LE(at + PUT_BYTES)
    const id = buffer.toString('latin1', at + PUT_BYTES + 4, at + COURSE_AT)
    return { is: 'moved', scope, id, course: readCourse(buffer, at + COURSE_AT), isKept }
  }
  if (kind !== PUT)
    throw new Error(`a row of trips is of kind ${kind}, which is not known: written by a newer release?`)
  const flags = buffer[at + 1]!
  let from = at + PUT_BYTES
  let added: TrailPoint[] | undefined
  if ((flags & WITH_LOCATIONS) !== 0) {
    added = []
    const count = buffer.readUInt32LE(from)
    from += 4
    for (let i = 0; i < count; i++, from += LOCATION_BYTES) {
      added.push({
        time: buffer.readDoubleLE(from),
        latitude: buffer.readDoubleLE(from + 8),
        longitude: buffer.readDoubleLE(from + 16),
      })
    }
  }
  return { is: 'put', packed: buffer.subarray(from, end), isCleared: (flags & CLEARED) !== 0, added }
}
