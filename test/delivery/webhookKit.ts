/**
 * What the tests of webhooks share: receivers that misbehave when told to, a clock that is moved by hand, a world
 * without sockets.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { WebhookDatabase } from '../../src/delivery/webhookDatabase.ts'
import type { DeliveryStore, Send } from '../../src/delivery/webhookPort.ts'
import { Webhooks } from '../../src/delivery/webhooks.ts'
import { EventFeed } from '../../src/events/feed.ts'
import type { Webhook } from '../../src/model/webhook.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { MemoryEvents } from '../actor/kit.ts'
import { whole } from '../events/contract.ts'
import { settle, SimulatedTime } from '../kit/simulatedTime.ts'

/** A request as a receiver got it. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of every shape
  readonly json: any
}

/** A real HTTP server on its own port. `answer` decides what it does, and may never end the response. */
export class Receiver {
  readonly got: Received[] = []
  answer: (received: Received, response: ServerResponse) => void = (_, response) => response.end('thanks')
  readonly #keep: (received: Received) => void
  #port = 0
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const received = { path: request.url!, headers: request.headers, body, json: JSON.parse(body) }
      this.#keep(received)
      this.answer(received, response)
    })
  })

  /** @param keep called with each request; by default it is added to {@link got} */
  constructor(keep?: (received: Received) => void) {
    this.#keep = keep ?? ((received) => void this.got.push(received))
  }

  static async start(t: Test): Promise<Receiver> {
    const receiver = new Receiver()
    await receiver.up()
    t.teardown(() => receiver.down())
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Listens, on the same port as before if it had one. */
  async up(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** Stops listening and drops all connections. */
  async down(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }
}

/** A delivery store in this thread. */
function storeOf(database: WebhookDatabase): DeliveryStore {
  const call =
    <A extends unknown[], R>(method: (...args: A) => R) =>
    async (...args: A): Promise<R> => {
      const result = method.apply(database, args)
      database.commit()
      return result
    }
  return {
    states: call(database.states),
    begin: call(database.begin),
    setState: call(database.setState),
    take: call(database.take),
    save: call(database.save),
    pending: call(database.pending),
    get: call(database.get),
    list: call(database.list),
    remove: call(database.remove),
    close: async () => {},
  }
}

/** Webhooks of scope 1 over a log that the test writes, with requests that the test answers. */
export class World {
  readonly time = new SimulatedTime()
  readonly events = new MemoryEvents()
  readonly feed = new EventFeed(this.events)
  readonly definitions = new Map<string, Webhook>()
  readonly database: WebhookDatabase
  webhooks: Webhooks
  send: Send
  random: () => number = () => 0.5
  userJson: () => Promise<string | undefined> = async () => undefined
  #position = 0

  constructor(t: Test, send: Send) {
    const folder = mkdtempSync(join(tmpdir(), 'ringfence-webhooks-'))
    this.database = new WebhookDatabase(join(folder, 'deliveries.sqlite'), {
      deliveriesDays: 30,
      deliveriesRows: 1000,
    })
    t.teardown(() => {
      this.database.close()
      rmSync(folder, { recursive: true })
    })
    this.send = send
    this.webhooks = this.#begin()
  }

  /** Adds webhooks to the registry and starts them. */
  async start(...webhooks: (Partial<Webhook> & { readonly id: string })[]): Promise<void> {
    for (const each of webhooks) this.definitions.set(each.id, { ...DEFINITION, ...each })
    await this.webhooks.start()
  }

  /** Makes events happen, one per device. Their numbers count up from 0 over all calls. */
  happen(...deviceIds: string[]): void {
    const first = this.events.all.length
    const now = this.time.now()
    this.feed.committed({
      offset: ++this.#position,
      events: deviceIds.map((deviceId, i) =>
        whole(first + i, { scope: 1, deviceId, createdAt: now, actualCreatedAt: now }),
      ),
    })
  }

  /** The process is killed, and another one starts. */
  async crash(): Promise<void> {
    await settle()
    const dead = this.webhooks
    this.webhooks = this.#begin()
    // Anything that the old process still planned to do never happens.
    void dead
    await this.webhooks.start()
  }

  #begin(): Webhooks {
    const life = { over: false }
    const before = this.#life
    if (before !== undefined) before.over = true
    this.#life = life
    const never = new Promise<never>(() => {})
    const store = storeOf(this.database)
    const alive = Object.fromEntries(
      Object.entries(store).map(([name, method]) => [
        name,
        (...args: never[]) => (life.over ? never : (method as (...args: never[]) => unknown)(...args)),
      ]),
    ) as unknown as DeliveryStore
    const registry = {
      all: () => [...this.definitions.values()],
      get: (_scope: number, id: string) => this.definitions.get(id),
      change: ({ id }: Webhook, change: object) => {
        const changed = { ...this.definitions.get(id)!, ...change }
        this.definitions.set(id, changed)
        return changed
      },
    }
    return new Webhooks({
      feed: this.feed,
      events: this.events,
      registry: registry as never,
      openStore: async () => alive,
      send: (webhook, message, signal) => (life.over ? never : this.send(webhook, message, signal)),
      userJson: () => this.userJson(),
      time: {
        now: () => this.time.now(),
        after: (milliseconds, work) => this.time.after(milliseconds, () => life.over || work()),
      },
      random: () => this.random(),
      retryMs: 24 * 3_600_000,
      retentionMs: 365 * 24 * 3_600_000,
      logger: createLogger('silent'),
    })
  }

  #life: { over: boolean } | undefined
}

const SECRET = `whsec_${Buffer.from('k'.repeat(30)).toString('base64')}`

const DEFINITION: Omit<Webhook, 'id'> = {
  scope: 1,
  url: 'http://receiver.example/',
  enabled: true,
  mode: 'single',
  secret: SECRET,
  createdAt: 0,
  updatedAt: 0,
}
