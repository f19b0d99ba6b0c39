/**
 * What clients of `bench/hostile.ts` do on many connections at once that no HTTP library would: bodies in tiny pieces, and
 * bodies that never end.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HostileCase } from './hostileCases.ts'
import { BENCH_KEYS } from './servers.ts'

const PIECES_CONNECTIONS = 100
/** The server reads this much of a connection at a time. */
const PIECES_BYTES = 500_000
/** One address may have 2,000, and the normal tracks have some. */
const HALF_CONNECTIONS = 1900
/** How long bodies stay incomplete. */
const HALF_MS = 3000

const UPDATE = head('/v1/track', BENCH_KEYS.testPublishable, 'application/json')
const IMPORT = head('/v1/imports/geofences', BENCH_KEYS.testSecret, 'text/csv')

export function connectionCases(): HostileCase[] {
  return [
    inPieces(`${PIECES_CONNECTIONS} bodies in chunks of a byte at once`, 1),
    inPieces(`${PIECES_CONNECTIONS} bodies in chunks of 20 bytes at once`, 20),
    incomplete(`${HALF_CONNECTIONS} half-sent updates`, UPDATE),
    incomplete(`${HALF_CONNECTIONS} half-sent imports`, IMPORT),
  ]
}

function head(path: string, key: string, type: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\nContent-Type: ${type}\r\n`
}

function inPieces(name: string, bytes: number): HostileCase {
  const chunk = `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`
  const chunks = chunk.repeat(PIECES_BYTES / chunk.length)
  const request = Buffer.from(`${UPDATE}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`)
  return {
    name,
    prepare: async (port) => {
      const sockets = await opened(port, PIECES_CONNECTIONS)
      return async () => {
        const answers = await Promise.all(
          sockets.map(async (socket) => {
            let text = ''
            socket.setEncoding('latin1').on('data', (piece: string) => (text += piece))
            socket.write(request)
            // Not `once`, which an error ends.
            await new Promise((resolve) => socket.once('close', resolve))
            return text
          }),
        )
        return answered(answers)
      }
    },
  }
}

function incomplete(name: string, start: string): HostileCase {
  return {
    name,
    prepare: async (port) => {
      const sockets = await opened(port, HALF_CONNECTIONS)
      return async () => {
        const texts = sockets.map(() => '')
        for (const [i, socket] of sockets.entries()) {
          socket.setEncoding('latin1').on('data', (piece: string) => (texts[i] += piece))
          socket.write(`${start}Content-Length: 1000000\r\n\r\n${' '.repeat(100)}`)
        }
        await sleep(HALF_MS)
        for (const socket of sockets) socket.destroy()
        return answered(texts)
      }
    },
  }
}

async function opened(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  while (sockets.length < count) {
    // The queue of connections that wait for the server to take them is short.
    const some = Array.from({ length: Math.min(100, count - sockets.length) }, async () => {
      const socket = connect({ port, host: '127.0.0.1' })
      // The server may close it before everything is sent.
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      return socket
    })
    sockets.push(...(await Promise.all(some)))
  }
  return sockets
}

/** The worst of the answers; 0 if the server has closed all connections without one. */
function answered(texts: readonly string[]) {
  const statuses = texts.map((text) => Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? 0))
  return { status: Math.max(...statuses), bytes: texts.join('').length }
}
