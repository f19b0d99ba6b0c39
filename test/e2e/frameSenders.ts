/**
 * A thread that opens streams, sends the same bytes over each of them as fast as they are taken, and reports when all have been
 * taken or their connection has ended. It keeps the streams open until it is told to end.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { RawStream, type RawOptions } from '../kit/webSocketFrames.ts'

export interface FrameSending extends RawOptions {
  readonly port: number
  readonly connections: number
  readonly bytes: Uint8Array
  /** Whether nothing that the server sends is read. */
  readonly isDeaf: boolean
}

if (workerData !== null) {
  const { port, connections, bytes, isDeaf, ...options } = workerData as FrameSending
  const streams: RawStream[] = []
  for (let i = 0; i < connections; i++) streams.push(await RawStream.open(port, options))
  parentPort!.postMessage('opened')
  parentPort!.once('message', () => {
    let left = connections
    const ended = () => {
      if (--left === 0) parentPort!.postMessage('sent')
    }
    for (const { socket } of streams) {
      if (isDeaf) socket.pause()
      let isOver = false
      const once = () => {
        if (isOver) return
        isOver = true
        ended()
      }
      socket.once('close', once)
      socket.write(bytes, once)
    }
  })
}
