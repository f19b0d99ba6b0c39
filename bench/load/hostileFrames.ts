/** The expensive frames that clients of `bench/hostile.ts` send over streams, in each encoding. */
import { Packr } from 'msgpackr'
import protobuf from 'protobufjs/light.js'
import { WebSocket } from 'ws'
import type { HostileCase } from './hostileCases.ts'
import { BODY_BYTES, CROWD, updateAt, USERS } from './hostileWorld.ts'
import { BENCH_KEYS } from './servers.ts'

const { testPublishable } = BENCH_KEYS

export function frameCases(): HostileCase[] {
  const packr = new Packr({ useRecords: false, variableMapSize: true })
  const frame = (name: string, protocol: string, message: () => string | Uint8Array): HostileCase => ({
    name,
    prepare: async (port) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/stream`, [protocol], {
        headers: { authorization: testPublishable },
      })
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
      const bytes = message()
      return () =>
        new Promise((resolve) => {
          let length = 0
          socket.once('message', (answer: Buffer) => {
            length = answer.length
            const text = answer.toString('latin1')
            const code = /"code":(\d+)/.exec(text)?.[1] ?? (text.includes('ack') ? 200 : 400)
            socket.terminate()
            resolve({ status: Number(code), bytes: length })
          })
          socket.once('close', (code: number) => resolve({ status: code, bytes: length }))
          socket.send(bytes)
        })
    },
  })
  let frames = 0
  const many = (count: number, item: unknown) => Array.from({ length: count }, () => item)
  return [
    frame('1 MB frame, JSON: empty objects', 'ringfence.json', () =>
      JSON.stringify({ type: 'track', id: 1, updates: many(BODY_BYTES / 3 - 20, {}) }),
    ),
    frame('1 MB frame, JSON: updates', 'ringfence.json', () =>
      JSON.stringify({
        type: 'track',
        id: 1,
        updates: Array.from({ length: 13_000 }, (_, i) => updateAt(`m${i}`, USERS)),
      }),
    ),
    frame('1 MB frame, JSON: lists in an unknown member', 'ringfence.json', () =>
      JSON.stringify({ type: 'ping', x: many(BODY_BYTES / 3 - 20, []) }),
    ),
    frame('1 MB frame, MessagePack: empty maps', 'ringfence.msgpack', () =>
      Uint8Array.from(packr.pack({ type: 'track', id: 1, updates: many(BODY_BYTES - 100, {}) })),
    ),
    frame('1 MB frame, MessagePack: empty texts', 'ringfence.msgpack', () =>
      Uint8Array.from(packr.pack({ type: 'ping', x: many(BODY_BYTES - 100, '') })),
    ),
    frame('1 MB frame, MessagePack: lists in lists', 'ringfence.msgpack', () =>
      new Uint8Array(BODY_BYTES).fill(0x91),
    ),
    frame('1 MB frame, MessagePack: keys of their own', 'ringfence.msgpack', () =>
      Uint8Array.from(
        packr.pack({
          type: 'ping',
          x: Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, i])),
        }),
      ),
    ),
    frame('1 MB frame, MessagePack: binary metadata', 'ringfence.msgpack', () => {
      const metadata = Buffer.alloc(BODY_BYTES - 200)
      return Uint8Array.from(
        packr.pack({ type: 'track', id: 1, updates: [{ ...updateAt('binary', USERS), metadata }] }),
      )
    }),
    frame('1 MB frame, MessagePack: one long text', 'ringfence.msgpack', () =>
      Uint8Array.from(
        packr.pack({ type: 'track', id: 1, updates: [{ ...updateAt('x'.repeat(BODY_BYTES - 200), USERS) }] }),
      ),
    ),
    ...(['json', 'msgpack'] as const).map((encoding) =>
      frame(`frame into the crowd that wants its events, ${encoding}`, `ringfence.${encoding}`, () => {
        const message = {
          type: 'track',
          id: 1,
          events: true,
          updates: [updateAt(`events ${encoding} ${frames++}`, CROWD)],
        }
        return encoding === 'json' ? JSON.stringify(message) : Uint8Array.from(packr.pack(message))
      }),
    ),
    frame('1 MB frame, protobuf: empty updates', 'ringfence.protobuf', () => inProtobuf([1], 2)),
    frame('1 MB frame, protobuf: metadata', 'ringfence.protobuf', () => inProtobuf([1, 2], 21)),
    frame('1 MB frame, protobuf: texts of a filter', 'ringfence.protobuf', () => inProtobuf([2, 2], 1)),
    frame('1 MB frame, protobuf: points of a polygon', 'ringfence.protobuf', () => inProtobuf([4, 4, 1], 1)),
  ]
}

/** Half a million empty messages or texts as one field of a message. @param path the fields that lead to it, by number */
function inProtobuf(path: readonly number[], field: number): Uint8Array {
  const item = protobuf.Writer.create()
    .uint32((field << 3) | 2)
    .uint32(0)
    .finish()
  const items = Buffer.alloc(BODY_BYTES - 50 - ((BODY_BYTES - 50) % item.length))
  items.fill(item)
  return path.reduceRight<Uint8Array>(
    (contents, number) =>
      protobuf.Writer.create()
        .uint32((number << 3) | 2)
        .bytes(contents)
        .finish(),
    items,
  )
}
