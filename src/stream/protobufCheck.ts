import protobuf from 'protobufjs/light.js'
import { Structure } from '../http/structure.ts'
import { badParam } from '../runtime/errors.ts'

/** What is known of a message before it is decoded. */
interface Shape {
  /** The messages among its fields, by the number of the field. */
  readonly messages: readonly (Shape | undefined)[]
  /** An object or list of its own, an entry of a map, or the value of an entry. */
  readonly kind: 'container' | 'entry' | 'value'
}

/** The number of the key in an entry of a map, and how the wire marks what each field has. */
const KEY = 1
const VARINT = 0
const FIXED_64 = 1
const BYTES = 2
const FIXED_32 = 5

/** The counts, which begin anew with each message. */
const structure = new Structure()

let bytes: Uint8Array = new Uint8Array()
let at = 0

/**
 * Checks the structure of a message before it is decoded: an empty message takes two bytes, and protobufjs makes an object of
 * each, half a million of a megabyte. The limits of {@link Structure} apply, as in JSON. Nothing is allocated.
 */
export class ProtobufCheck {
  readonly #shape: Shape

  constructor(type: protobuf.Type) {
    this.#shape = shapeOf(type, 'container')
  }

  /**
   * Checks a message of the type. What is invalid in another way is left to the decoder.
   * @throws ApiError 400
   */
  check(message: Uint8Array): void {
    bytes = message
    at = 0
    structure.begin()
    readMessage(message.length, this.#shape)
  }
}

function shapeOf(type: protobuf.Type, kind: Shape['kind']): Shape {
  const messages: (Shape | undefined)[] = []
  for (const field of type.fieldsArray) {
    const { resolvedType } = field.resolve()
    if (!(resolvedType instanceof protobuf.Type)) continue
    messages[field.id] = field.map
      ? { kind: 'entry', messages: [undefined, undefined, shapeOf(resolvedType, 'value')] }
      : shapeOf(resolvedType, 'container')
  }
  return { messages, kind }
}

/** Reads up to where the message ends. Each field counts, and in an entry its key by its name. */
function readMessage(end: number, { messages, kind }: Shape): void {
  while (at < end) {
    const tag = varint()
    const field = tag >>> 3
    let length = 0
    switch (tag & 7) {
      case VARINT:
        varint()
        break
      case FIXED_64:
        length = 8
        break
      case FIXED_32:
        length = 4
        break
      case BYTES:
        length = varint()
        break
      default:
        throw badParam('message', 'Invalid protobuf.')
    }
    if (length > end - at) throw badParam('message', 'Invalid protobuf.')
    const inner = (tag & 7) === BYTES ? messages[field] : undefined
    if (kind === 'entry' && field === KEY) structure.name(hashOf(at, at + length))
    else if (inner?.kind !== 'value') structure.value()
    if (inner?.kind === 'container') structure.container()
    if (structure.excess !== undefined) throw badParam('message', structure.excess)
    if (inner === undefined) at += length
    else readMessage(at + length, inner)
  }
}

/** The next number. Of one with more than 32 bits the rest is left out, because no length has them. */
function varint(): number {
  let value = 0
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++]
    if (byte === undefined || shift > 63) throw badParam('message', 'Invalid protobuf.')
    if (shift < 32) value = (value | ((byte & 0x7f) << shift)) >>> 0
    if (byte < 0x80) return value
  }
}

function hashOf(from: number, to: number): number {
  let hash = structure.seed
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
  return hash
}
