/** What the tests of the NATS bridge have in common. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type { Test } from 'tap'
import type { NatsServer } from '../kit/nats.ts'
import { KEYS, startServer, type Server } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'

/** A Ringfence server that publishes to this NATS. */
export function withBridge(t: Test, nats: NatsServer, env: Record<string, string> = {}): Promise<Server> {
  return startServer(t, { env: { RINGFENCE_NATS_URL: `nats://${nats.address}`, ...env } })
}

/** Sends a conversion, which becomes an event. Returns its `_id`. */
export async function event(
  server: Server,
  body: object = {},
  key: string = KEYS.testSecret,
): Promise<string> {
  const conversion = { name: 'bought', deviceId: 'd1', ...body }
  return (await server.good('POST', '/v1/events', conversion, key)).event._id
}

/** The value of a metric without labels. */
export async function metric(server: Server, name: string): Promise<number> {
  const { body } = await server.api('GET', '/metrics', undefined, null)
  return Number(new RegExp(`^ringfence_${name} (\\S+)$`, 'm').exec(body)![1])
}

/** What /readyz reports about the bridge. */
export async function detail(server: Server): Promise<{ ok: boolean; detail: string }> {
  const { body } = await server.api('GET', '/readyz', undefined, null)
  return body.checks.find((check: { name: string }) => check.name === 'NATS bridge')
}

/** Resolves once the stream has all events. */
export async function caughtUp(server: Server): Promise<void> {
  await until(
    async () =>
      (await metric(server, 'nats_connected')) === 1 && (await metric(server, 'nats_lag_events')) === 0,
  )
}

/** The message ids of the stream, in its order. */
export async function ids(nats: NatsServer): Promise<string[]> {
  return (await nats.messages('EVENTS')).map(({ id }) => id)
}

/** Devices that make one event after another, each with its number `n`. They repeat a request if the server is gone. */
export function load(server: Server, devices: number): { stop(): Promise<ReadonlySet<string>> } {
  let on = true
  const acknowledged = new Set<string>()
  const running = Array.from({ length: devices }, async (_, d) => {
    let n = 0
    const next = async (): Promise<void> => {
      if (!on) return
      await event(server, { deviceId: `d${d}`, metadata: { n: n++ } }).then(
        (id) => acknowledged.add(id),
        () => sleep(50),
      )
      return next()
    }
    await next()
  })
  return {
    /** Resolves to the ids of the acknowledged events. */
    async stop() {
      on = false
      await Promise.all(running)
      return acknowledged
    },
  }
}

/** The ids of all events of a stopped server, in the order of its log. */
export function logOf(server: Server): string[] {
  const database = new Database(join(server.data, 'events.sqlite'), { readonly: true })
  try {
    return database.prepare<[], string>('SELECT lower(hex(id)) FROM events ORDER BY rowid').pluck().all()
  } finally {
    database.close()
  }
}
