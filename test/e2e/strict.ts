/**
 * What the tests of bad input share: requests that must be answered by the interface's table and in time, many at
 * once, and a last look at the server.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type HttpAnswer } from '../kit/server.ts'
import { progress } from '../kit/waiting.ts'
import { briefly, type Api, type Json } from './contract.ts'

export const MIB = 1024 * 1024

/** What bad input may be answered; 503 only where an engine is wanted that is not there. */
const TABLE = new Set([200, 400, 403, 404, 405, 409, 413, 415])

/** What takes longer hangs, also on a loaded machine with slow cores. */
const DEADLINE_MS = 120_000

/** Requests as {@link Api.call} that must be answered by the table, in time, and with the name of a bad parameter. */
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

async function overdue(where: string): Promise<never> {
  await sleep(DEADLINE_MS, undefined, { ref: false })
  throw new Error(`no answer within ${DEADLINE_MS} ms: ${where}`)
}

/** Eight at a time. */
export async function all<T>(items: readonly T[], run: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items.values()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const item of queue) await run(item)
    }),
  )
}

/** The value of a metric by its name without prefix, which its first labels may follow; the sum where several fit. */
export async function metric(api: Api, name: string): Promise<number> {
  return (await metrics(api, name))[0]
}

/** As {@link metric} several, of the same moment. */
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

/** So long may a server that should come to rest change nothing. */
const REST_PATIENCE_MS = 30_000

/** Waits until nothing is in flight but the question itself, and nothing is held. */
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
    // For as long as it is at work it may take, whatever the machine.
    const now = `${inFlight} ${held} ${mailbox} ${work.join(' ')}`
    if (now !== seen) {
      seen = now
      since = performance.now()
      progress()
    }
    if (isAtRest || performance.now() - since > REST_PATIENCE_MS) {
      t.equal(inFlight, 1, 'requests in flight: this one')
      t.equal(held, 0, 'bytes of bodies held')
      t.equal(mailbox, 0, 'bytes in the mailbox')
      return
    }
    await sleep(50)
  }
}

/** Whether the server is as well as at its start, with its settings at their defaults; says what memory it takes. */
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
