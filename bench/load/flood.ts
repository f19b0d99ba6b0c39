/**
 * Streams that send frames of updates as fast as they can, so that a server must share its time between them and all
 * others.
 */
import { WebSocket } from 'ws'

export interface Flood {
  readonly streams: number
  readonly key: string
  /** The longitude and latitude of the n-th update of device number i. */
  readonly place: (device: number, n: number) => readonly [number, number]
  /** The beginning of the names of its devices. */
  readonly name: string
}

const UPDATES = 1000
/** Devices of one stream. */
const DEVICES = 5000
/** Number of frames with different places before they repeat. */
const ROUNDS = 2
/** How many bytes a socket may hold before it sends no more. */
const HELD_BYTES = 1024 * 1024

/** Floods the server until the thread ends. Resolves when the streams are open. */
export async function flood(port: number, { streams, key, place, name }: Flood): Promise<void> {
  await Promise.all(
    Array.from({ length: streams }, async (_, stream) => {
      const bodies = Array.from({ length: (DEVICES / UPDATES) * ROUNDS }, (__, frame) => {
        const first = (frame * UPDATES) % DEVICES
        const updates = Array.from({ length: UPDATES }, (___, i) => {
          const [longitude, latitude] = place(first + i, Math.floor((frame * UPDATES) / DEVICES))
          return { deviceId: `${name}-${stream}-${first + i}`, longitude, latitude, accuracy: 5 }
        })
        return `"updates":${JSON.stringify(updates)}}`
      })
      const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/stream`, ['ringfence.json'], {
        headers: { authorization: key },
      })
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
      socket.on('error', () => undefined)
      let next = 1
      const send = () => {
        while (socket.readyState === WebSocket.OPEN && socket.bufferedAmount < HELD_BYTES) {
          socket.send(`{"type":"track","id":${next},${bodies[next % bodies.length]}`)
          next++
        }
      }
      socket.on('message', (data: Buffer) => {
        const { type, id } = JSON.parse(data.toString()) as { type: string; id: number }
        if (type === 'busy') next = Math.min(next, id)
      })
      setInterval(send, 1)
    }),
  )
}
