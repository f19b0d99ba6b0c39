/** What the clients of `bench/hostile.ts` read of an answer. */
import { BENCH_KEYS } from './servers.ts'

/** The status of an answer, and its size in bytes. */
export interface Answered {
  readonly status: number
  readonly bytes: number
}

/** Sends a request and reads its answer to the end. */
export async function answered(port: number, path: string, init: RequestInit): Promise<Answered> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, init)
  let bytes = 0
  for await (const chunk of answer.body!) bytes += chunk.length
  return { status: answer.status, bytes }
}

/**
 * Reads the stream of events for a while.
 * @param from the `_id` of the event after which it begins
 */
export function readEventStream(port: number, from: string, milliseconds: number): Promise<Answered> {
  return readFor(milliseconds, port, '/v1/events/stream', { 'last-event-id': from })
}

/** Reads a long answer for a while, with the secret key. */
export async function readFor(
  milliseconds: number,
  port: number,
  path: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  const ended = new AbortController()
  const headers = { authorization: BENCH_KEYS.testSecret, ...more }
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers, signal: ended.signal })
  const timer = setTimeout(() => ended.abort(), milliseconds)
  let bytes = 0
  try {
    for await (const chunk of answer.body!) bytes += chunk.length
  } catch {
    // The client has read long enough.
  }
  clearTimeout(timer)
  return { status: answer.status, bytes }
}
