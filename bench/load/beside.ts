/** What a long task of the server costs others: updates are sent beside it, and its memory is watched. */
import { setTimeout as sleep } from 'node:timers/promises'
import { rounded } from '../figures.ts'
import { BENCH_KEYS, type ServerProcess } from './servers.ts'

const DEVICES = 50
const SAMPLE_EVERY_MS = 50

export interface Beside {
  readonly seconds: number
  readonly updates: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly rssHighestMb: number
}

/** Runs `task` while an update is sent every few milliseconds and memory is measured. */
export async function beside(
  server: ServerProcess,
  everyMs: number,
  task: () => Promise<unknown>,
): Promise<Beside> {
  const stop = new AbortController()
  const latencies: number[] = []
  let rssHighest = 0
  const sampler = setInterval(() => (rssHighest = Math.max(rssHighest, server.rssBytes())), SAMPLE_EVERY_MS)
  const updates = sendUpdates(server.port, everyMs, latencies, stop.signal)
  const began = performance.now()
  try {
    await task()
  } finally {
    clearInterval(sampler)
    stop.abort()
  }
  const seconds = rounded((performance.now() - began) / 1000, 2)
  await updates
  latencies.sort((a, b) => a - b)
  const at = (share: number) => rounded(latencies[Math.floor((latencies.length - 1) * share)] ?? 0, 2)
  return {
    seconds,
    updates: latencies.length,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
    rssHighestMb: Math.round(rssHighest / 1e6),
  }
}

/** Open loop: an update is sent when it is due, and its latency counts from that time. */
async function sendUpdates(
  port: number,
  everyMs: number,
  latencies: number[],
  signal: AbortSignal,
): Promise<void> {
  const answers: Promise<void>[] = []
  const began = performance.now()
  for (let i = 0; !signal.aborted; i++) {
    const due = began + i * everyMs
    await sleep(Math.max(0, due - performance.now()))
    answers.push(sendUpdate(port, i).then(() => void latencies.push(performance.now() - due)))
  }
  await Promise.all(answers)
}

async function sendUpdate(port: number, i: number): Promise<void> {
  const device = i % DEVICES
  const latitude = 40 + (i % 1000) / 10_000
  const answer = await fetch(`http://127.0.0.1:${port}/v1/track`, {
    method: 'POST',
    headers: { Authorization: BENCH_KEYS.testPublishable, 'Content-Type': 'application/json' },
    body: JSON.stringify({ deviceId: `bench-${device}`, latitude, longitude: -74, accuracy: 20 }),
  })
  await answer.arrayBuffer()
  if (answer.status !== 200) throw new Error(`an update was answered ${answer.status}`)
}
