import type { ScopeId } from '../model/scope.ts'
import type { ActorTable, ActorType } from './actorType.ts'
import { DEVICE_TYPE, deviceRowEnd } from './deviceRows.ts'

/**
 * Commits as bytes. A frame of the log is one flush: the commits of every partition that had mail.
 *
 * ```
 * frame    version u8 · server time f64 · commit*
 * commit   partition u16 · sequence f64 · registry revision f64 · rows u32 · events u32 · row* · event*
 * row      of a device: see deviceRows.ts, kinds 1 to 4 and 6
 *          of any other actor: ACTOR u8 · number of its type u8 · length u32 · what the type has written
 * event    scope u32 · length u32 · JSON
 * ```
 * Little-endian. Version 1 has rows of the kinds 1 to 3 only, version 2 has none of the kind 6, and version 3 no
 * rows MOVED of trips (trips/tripRows.ts). Rows are applied as data, in order, never evaluated again.
 */
const VERSION = 4
const OLDEST_VERSION = 1
const ACTOR = 5
/** The size of an actor row without the data that its type has written. */
const ACTOR_BYTES = 6

const FIRST_BYTES = 64 * 1024
/** A writer that grew larger than this in a burst starts small again. */
const KEPT_BYTES = 4 * 1024 * 1024
const COMMIT_HEADER_BYTES = 26

/** An event as stored in a commit. */
export interface CommittedEvent {
  readonly scope: ScopeId
  readonly json: string
}

/** Builds one frame after another in one reused buffer. */
export class FrameWriter {
  #buffer: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  /** A view of the frame's bytes; replaced after each added row. */
  view = viewOf(this.#buffer)
  #at = 0
  #commitStart = 0
  #rows = 0
  #events = 0

  /** Bytes written since {@link begin}. */
  get bytes(): number {
    return this.#at
  }

  /** Starts a frame; `time` is the server's, epoch milliseconds. */
  begin(time: number): void {
    if (this.#buffer.length > KEPT_BYTES) this.#setBuffer(Buffer.allocUnsafeSlow(FIRST_BYTES))
    this.#buffer[0] = VERSION
    this.#buffer.writeDoubleLE(time, 1)
    this.#at = 9
  }

  /** Starts the commit of one partition. Rows come before events. */
  beginCommit(partition: number, sequence: number, revision: number): void {
    this.#reserve(COMMIT_HEADER_BYTES)
    this.#commitStart = this.#at
    this.view.setUint16(this.#at, partition, true)
    this.view.setFloat64(this.#at + 2, sequence, true)
    this.view.setFloat64(this.#at + 10, revision, true)
    this.#at += COMMIT_HEADER_BYTES
    this.#rows = 0
    this.#events = 0
  }

  /** Ends the commit; one without rows and events is removed. Returns whether it was kept. */
  endCommit(): boolean {
    if (this.#rows === 0 && this.#events === 0) {
      this.#at = this.#commitStart
      return false
    }
    this.sealCommit()
    return true
  }

  /** Ends the commit, even if it is empty. */
  sealCommit(): void {
    this.view.setUint32(this.#commitStart + 18, this.#rows, true)
    this.view.setUint32(this.#commitStart + 22, this.#events, true)
  }

  /** Adds a row to the commit: the caller writes this number of bytes into {@link view}, from the returned index on. */
  addRow(bytes: number): number {
    this.#reserve(bytes)
    const at = this.#at
    this.#at += bytes
    this.#rows++
    return at
  }

  /**
   * Adds a row of an actor that is not a device.
   * @param data in the form that the type's table reads
   * @param more what follows it
   */
  actorRow({ number }: Pick<ActorType, 'number'>, data: Uint8Array, more?: Uint8Array): void {
    const length = data.length + (more?.length ?? 0)
    const at = this.addRow(ACTOR_BYTES + length)
    this.view.setUint8(at, ACTOR)
    this.view.setUint8(at + 1, number)
    this.view.setUint32(at + 2, length, true)
    this.set(data, at + ACTOR_BYTES)
    if (more !== undefined) this.set(more, at + ACTOR_BYTES + data.length)
  }

  set(bytes: Uint8Array, at: number): void {
    this.#buffer.set(bytes, at)
  }

  /**
   * Makes room for many bytes at once. If it grew while they are written, the frame would be copied again and again.
   */
  expect(bytes: number): void {
    this.#reserve(bytes)
  }

  event(event: CommittedEvent): void {
    const { json } = event
    // A character takes up to three bytes. They are counted only at the end of the room, where all of the frame would be
    // copied for the last of its events otherwise.
    const most = 8 + json.length * 3
    this.#reserve(this.#at + most <= this.#buffer.length ? most : 8 + Buffer.byteLength(json))
    this.#buffer.writeUInt32LE(event.scope, this.#at)
    const length = this.#buffer.write(json, this.#at + 8, 'utf8')
    this.#buffer.writeUInt32LE(length, this.#at + 4)
    this.#at += 8 + length
    this.#events++
  }

  /** The frame; valid until the next {@link begin}. */
  take(): Uint8Array {
    return this.#buffer.subarray(0, this.#at)
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, this.#at + bytes))
    this.#buffer.copy(grown, 0, 0, this.#at)
    this.#setBuffer(grown)
  }

  #setBuffer(buffer: Buffer): void {
    this.#buffer = buffer
    this.view = viewOf(buffer)
  }
}

/** Writes numbers through a view, because a Buffer's own methods take several times as long. */
function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** The bytes of a frame. */
export interface FrameBytes {
  readonly buffer: Buffer
  /** A view of the same bytes. */
  readonly view: DataView
}

/** Receives the contents of frames, in the order of the bytes. */
export interface FrameVisitor {
  /** A commit begins. Returns false if its rows are to be skipped because a snapshot has them already. */
  commit(partition: number, sequence: number, revision: number, rows: number): boolean
  /** The table for the current commit's rows of an actor type; undefined if there is no such type. */
  tableOf(type: number): ActorTable | undefined
  /** Whether events are wanted: making their texts takes longer than everything else. */
  readonly wantsEvents: boolean
  event(event: CommittedEvent): void
}

/** Reads one frame. Throws if it is of a newer version or inconsistent. */
export function readFrame(payload: Uint8Array, visitor: FrameVisitor): void {
  const buffer = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  const view = viewOf(payload)
  const version = buffer[0]
  if (version === undefined || version < OLDEST_VERSION || version > VERSION)
    throw new Error(`frame version ${version} is not ${VERSION}: written by a newer release?`)
  const frame: FrameBytes = { buffer, view }
  const time = view.getFloat64(1, true)
  let at = 9
  while (at < buffer.length) {
    const rows = view.getUint32(at + 18, true)
    const wanted = visitor.commit(
      view.getUint16(at, true),
      view.getFloat64(at + 2, true),
      view.getFloat64(at + 10, true),
      rows,
    )
    const events = view.getUint32(at + 22, true)
    at += COMMIT_HEADER_BYTES
    const devices = wanted ? visitor.tableOf(DEVICE_TYPE) : undefined
    for (let i = 0; i < rows; i++) {
      if (view.getUint8(at) === ACTOR) {
        const start = at + ACTOR_BYTES
        const end = start + view.getUint32(at + 2, true)
        if (wanted) tableOf(visitor, view.getUint8(at + 1)).readRow(frame, start, end, time)
        at = end
      } else {
        const end = deviceRowEnd(view, at)
        devices?.readRow(frame, at, end, time)
        at = end
      }
    }
    for (let i = 0; i < events; i++) {
      const length = view.getUint32(at + 4, true)
      if (visitor.wantsEvents)
        visitor.event({
          scope: view.getUint32(at, true),
          json: buffer.toString('utf8', at + 8, at + 8 + length),
        })
      at += 8 + length
    }
  }
  if (at !== buffer.length) throw new Error(`frame ends at byte ${at} of ${buffer.length}`)
}

function tableOf(visitor: FrameVisitor, type: number): ActorTable {
  const table = visitor.tableOf(type)
  if (table === undefined)
    throw new Error(`a row is of actor type ${type}, which is not known: written by a newer release?`)
  return table
}
