/**
 * A thread that holds many connections with bodies that never end, and opens each anew that the server closes, until it is
 * terminated. It reports when all have been opened once.
 */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

/** What each connection sends. */
export interface SlowSending {
  /** The request line and headers, with the empty line behind them. */
  readonly head: string
  /** Sent at once after the head. */
  readonly first: string
  /** Sent every {@link everyMs}; nothing if it is empty. */
  readonly later: string
  readonly everyMs: number
}

export interface SlowSenders extends SlowSending {
  readonly port: number
  readonly connections: number
  /** They come from so many addresses of this machine, in turn. */
  readonly addresses: number
}

const AGAIN_MS = 1000

if (workerData !== null) {
  const { port, connections, addresses, head, first, later, everyMs } = workerData as SlowSenders
  let opened = 0
  const open = (i: number): void => {
    const localAddress = `127.0.0.${2 + (i % addresses)}`
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    let timer: NodeJS.Timeout | undefined
    socket.setNoDelay(true)
    socket.once('connect', () => {
      if (++opened === connections) parentPort!.postMessage('opened')
      socket.write(head + first)
      if (later !== '') timer = setInterval(() => socket.write(later), everyMs)
    })
    socket.on('error', () => undefined).resume()
    socket.once('close', () => {
      clearInterval(timer)
      setTimeout(open, AGAIN_MS, i)
    })
  }
  for (let i = 0; i < connections; i++) {
    open(i)
    // The queue of connections that wait for the server to take them is short.
    if (i % 100 === 99) await sleep(20)
  }
}
