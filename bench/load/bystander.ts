/**
 * A thread that sends a normal track every few milliseconds, each for its next device and without waiting for the
 * previous one, and reports how long the slowest waited for its answer. It is a thread because `bench/hostile.ts`
 * builds large requests meanwhile.
 */
import { Agent, request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

export interface BystanderData {
  readonly port: number
  readonly key: string
  readonly devices: number
}

export interface Stalls {
  readonly tracks: number
  readonly worstMs: number
  readonly failed: number
}

const EVERY_MS = 4

const { port, key, devices } = workerData as BystanderData
const agent = new Agent({ keepAlive: true, maxSockets: 256 })
let next = 0
let tracks = 0
let worstMs = 0
let failed = 0
/** Requests that were sent but not answered. */
const open = new Set<number>()

setInterval(track, EVERY_MS)

function track(): void {
  const device = next++ % devices
  const body = `{"deviceId":"bystander-${device}","latitude":${0.0001 * (next % 7)},"longitude":0,"accuracy":5}`
  const began = performance.now()
  open.add(began)
  send(body, began)
}

function send(body: string, began: number): void {
  const outgoing = request(
    {
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/v1/track',
      agent,
      headers: { authorization: key, 'content-type': 'application/json', 'content-length': body.length },
    },
    (response) => {
      response.resume().once('end', () => {
        if (response.statusCode !== 200) failed++
        settle(began)
      })
    },
  )
  outgoing.once('error', () => {
    // The server has just closed a connection that was idle for too long.
    if (outgoing.reusedSocket) return send(body, began)
    failed++
    settle(began)
  })
  outgoing.end(body)
}

function settle(began: number): void {
  open.delete(began)
  tracks++
  worstMs = Math.max(worstMs, performance.now() - began)
}

parentPort!.on('message', () => {
  const now = performance.now()
  for (const began of open) worstMs = Math.max(worstMs, now - began)
  parentPort!.postMessage({ tracks, worstMs, failed } satisfies Stalls)
  tracks = worstMs = failed = 0
})
