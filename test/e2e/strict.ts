/**
 * What the tests of bad input share: requests that must be answered in time with an allowed status, running many at
 * once, and a final check of the server.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type HttpAnswer } from '../kit/server.ts'
import { progress } from '../kit/waiting.ts'
import { briefly, type Api, type Json } from './contract.ts'

export const MIB = 1024 * 1024

/** The statuses that bad input may get. 503 is only allowed if the request needs an engine that is missing. */
const TABLE = new Set([200, 400, 403, 404, 405, 409, 413, 415])

/** A request that takes longer hangs, even on a loaded machine with slow cores. */
const DEADLINE_MS = 120_000

/**
 * Requests like {@link Api.call} that must be answered in time, with an allowed status and the name of a bad
 * parameter.
 */
export function strictCall(api: Api) {
  return async (...[method, path, ...rest]: Parameters<Api['call']>): Promise<HttpAnswer> => {
    const where = `${method} ${path.slice(0, 200)} ${JSON.stringify(rest[0])?.slice(0, 200)}`
    const answer = await Promise.race([api.call(method, path, ...rest), overdue(where)])
    const { status, body } = answer
    if (!TABLE.has(status) && !(status === 503 && /There is no/.test(body.meta.message)))
      throw new Error(`${where} → ${status}: ${JSON.stringify(body)}`)
    if (status === 400 && method !== 'HEAD') {
      const { param, message } = body.meta
      if (typeof param !== 'string' || !message.startsWith(`${param}: `))
        throw new Error(`${where}: ${JSON.stringify(body.meta)} does not name the parameter`)
    }
    return answer
  }
}

/** Rejects when an answer to this request would be too late. */
export async function overdue(where: string): Promise<never> {
  await sleep(DEADLINE_MS, undefined, { ref: false })
  throw new Error(`no answer within ${DEADLINE_MS} ms: ${where}`)
}

/** Runs eight at a time. */
export async function all<T>(items: readonly T[], run: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items.values()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const item of queue) await run(item)
    }),
  )
}

/**
 * The value of a metric by its name without prefix, optionally followed by its first labels; the sum if several
 * match.
 */
export async function metric(api: Api, name: string): Promise<number> {
  return (await metrics(api, name))[0]
}

/** Like {@link metric}, for several metrics at the same moment. */
export async function metrics<T extends readonly string[]>(
  api: Api,
  ...names: T
): Promise<{ [K in keyof T]: number }> {
  const { body } = await api.server.api('GET', '/metrics', undefined, null)
  const lines = (body as string).split('\n')
  const sum = (name: string) => {
    const values = lines.filter((line) => line.startsWith(name) && /^[{ ,}]/.test(line.slice(name.length)))
    return values.length === 0
      ? Number.NaN
      : values.reduce((total, line) => total + Number(line.split(' ').at(-1)), 0)
  }
  return names.map((name) => sum(`ringfence_${name}`)) as { [K in keyof T]: number }
}

/** How long a server that should become idle may show no change. */
const UNCHANGED_MS = 30_000

/** Waits until nothing is in flight except this query itself, and nothing is held. */
export async function settled(t: Test, api: Api): Promise<void> {
  let seen = ''
  let since = performance.now()
  for (;;) {
    const [inFlight, held, mailbox, ...work] = await metrics(
      api,
      'http_in_flight',
      'http_held_bytes',
      'mailbox_bytes',
      'updates_total',
      'log_position',
    )
    const isAtRest = inFlight === 1 && held === 0 && mailbox === 0
    // The server may take as long as it makes progress, on any machine.
    const now = `${inFlight} ${held} ${mailbox} ${work.join(' ')}`
    if (now !== seen) {
      seen = now
      since = performance.now()
      progress()
    }
    if (isAtRest || performance.now() - since > UNCHANGED_MS) {
      t.equal(inFlight, 1, 'requests in flight: this one')
      t.equal(held, 0, 'bytes of bodies held')
      t.equal(mailbox, 0, 'bytes in the mailbox')
      return
    }
    await sleep(50)
  }
}

/** Checks that the server works as well as at its start, with default settings, and prints its memory. */
export async function unharmed(t: Test, api: Api): Promise<void> {
  const here: [number, number] = [-100, 30]
  await api.circle('end/1', here, 100)
  const update = { deviceId: 'end', latitude: here[1], longitude: here[0], accuracy: 5 }
  t.strictSame(briefly((await api.track(update)).events), ['entered end/1 3'])
  t.strictSame(briefly((await api.call('GET', '/v1/events?deviceId=end')).body.events), ['entered end/1 3'])
  const { body } = await api.call('GET', '/readyz', undefined, null)
  t.ok(
    body.checks.every((check: Json) => check.ok),
    'ready',
  )
  await settled(t, api)
  const memory = await metric(api, 'resident_memory_bytes')
  console.error(`resident memory of the server after all of this: ${Math.round(memory / MIB)} MiB`)
  t.ok(memory < 1024 * MIB, 'memory is bounded')
  t.notMatch(api.server.output, /request failed|"level":"(?:error|fatal)"/, 'nothing failed inside')
  await api.server.kill9()
  await api.server.restart()
  t.strictSame((await api.track(update)).events, [], 'it starts again on what it has stored')
}
