import { closeSync, openSync, readSync } from 'node:fs'
import { Packr } from 'msgpackr'
import protobuf from 'protobufjs'

/** The encodings of streams. The names of their subprotocols are `ringfence.` followed by these. */
export const ENCODINGS = ['json', 'msgpack', 'protobuf'] as const
export type Encoding = (typeof ENCODINGS)[number]

/** Writes a track frame. The parts that are the same in each are encoded before the measurement begins. */
export interface FrameEncoder {
  /** Encodes the updates of a frame, without what comes before them. */
  body(updates: readonly object[]): Buffer
  /** The parts before and after a body. Together they are one message. */
  around(id: number, body: Buffer, updates: number, events: boolean): readonly [before: Buffer, after: Buffer]
}

const NOTHING = Buffer.alloc(0)
const packr = new Packr({ useRecords: false, variableMapSize: true })

/**
 * Prepares an encoder.
 * @param proto path of ringfence.proto
 */
export function frameEncoder(encoding: Encoding, proto: string): FrameEncoder {
  switch (encoding) {
    case 'json':
      return {
        body: (updates) => Buffer.from(updates.map((update) => JSON.stringify(update)).join(',')),
        around: (id, _body, _updates, events) => [
          Buffer.from(`{"type":"track","id":${id},${events ? '"events":true,' : ''}"updates":[`),
          Buffer.from(']}'),
        ],
      }
    case 'msgpack':
      return {
        body: (updates) => Buffer.concat(updates.map((update) => Buffer.from(packr.pack(update)))),
        around: (id, _body, updates, events) => {
          const before = [events ? 0x84 : 0x83, ...text('type'), ...text('track')]
          before.push(...text('id'), 0xce, ...bytes(id, 4))
          if (events) before.push(...text('events'), 0xc3)
          return [Buffer.from([...before, ...text('updates'), 0xdc, ...bytes(updates, 2)]), NOTHING]
        },
      }
    case 'protobuf': {
      const Update = protobuf.loadSync(proto).lookupType('ringfence.v1.Update')
      return {
        body: (updates) =>
          Buffer.concat(
            updates.map((update) => {
              const encoded = Update.encode(Update.fromObject(update)).finish()
              return Buffer.concat([Buffer.from([0x12, ...varint(encoded.length)]), encoded])
            }),
          ),
        around: (id, body, _updates, events) => {
          const head = [0x08, ...varint(id), ...(events ? [0x18, 1] : [])]
          return [Buffer.from([0x0a, ...varint(head.length + body.length), ...head]), NOTHING]
        },
      }
    }
  }
}

/** A short text in MessagePack. */
function text(value: string): number[] {
  return [0xa0 + value.length, ...Buffer.from(value)]
}

function bytes(value: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => (value >>> (8 * (count - 1 - i))) & 255)
}

function varint(value: number): number[] {
  const result: number[] = []
  for (; value > 127; value >>>= 7) result.push((value & 127) | 128)
  return [...result, value]
}

/** All records (`u32 length, JSON`) of a request file. */
export function readUpdates(path: string, count: number): object[] {
  const file = openSync(path, 'r')
  const updates: object[] = []
  const buffer = Buffer.allocUnsafe(1 << 20)
  let used = 0
  for (let read = 1; read > 0 && updates.length < count;) {
    read = readSync(file, buffer, used, buffer.length - used, null)
    used += read
    let at = 0
    while (at + 4 <= used && at + 4 + buffer.readUInt32LE(at) <= used && updates.length < count) {
      const end = at + 4 + buffer.readUInt32LE(at)
      updates.push(JSON.parse(buffer.toString('utf8', at + 4, end)) as object)
      at = end
    }
    buffer.copy(buffer, 0, at, used)
    used -= at
  }
  closeSync(file)
  return updates
}
