/**
 * Every text parameter of the OpenAPI document is read in time in proportion to its length (issue 12, 1): a server
 * with records of every kind gets hostile texts of up to a megabyte in each of them, over raw sockets, and its
 * processor time is compared. No time is an absolute bound: each length is compared with the one before it.
 */
import t from 'tap'
import type { Operation } from '../e2e/contract.ts'
import { filledText } from '../fuzz/placeholders.ts'
import { Closed, Connection, type WireAnswer } from '../fuzz/wire.ts'
import { GIVE_UP_MS, MARKS, World } from '../fuzz/world.ts'
import { KEYS } from '../kit/server.ts'
import { Stream } from '../kit/stream.ts'
import { jsonLength, SHAPES, textOf, urlLength, type Shape } from './hostileTexts.ts'
import { textParametersOf, type TextParameter } from './textParameters.ts'

/** Characters. A body may have a megabyte, its other members included. */
const LENGTHS = [1000, 10_000, 100_000, 1_000_000]
/** The longest text that the document allows is compared with an eighth of it. */
const EIGHTH = 8
/** Growth up to this many times linear counts as linear, because caches fill and garbage is collected. */
const TOLERANCE = 3
/** Less cannot be told from the other work of the server, such as reporting its processor time. */
const LEAST_MS = 10
/** A growth that looks too large is measured so many times more, and the least counts. */
const RUNS = 3
const USERS = 2000
/** Each parameter is sent so many of the shapes, drawn by the seed: all of them take a quarter of an hour. */
const SHAPES_OF_EACH = 4
const SEED = Number(process.env.RINGFENCE_SEED ?? Date.now() % 1e9)

t.test('text parameters', async (t) => {
  const world = await World.create()
  t.teardown(() => world.dispose())
  await addUsers(world)
  let reached = 0
  let parameters = 0
  for (const operation of world.api.operations) {
    const found = textParametersOf(world.api, operation)
    if (found.length === 0) continue
    const client = new RawClient(world, operation)
    await t.test(`${operation.method} ${operation.path}`, async (t) => {
      await world.replenish()
      for (const parameter of found) {
        const trial = new Trial(world, client, parameter, shapesOf(parameters))
        t.strictSame(await trial.faults(), [], parameter.name)
        parameters++
        if (trial.isReached) reached++
      }
      client.close()
    })
  }
  t.comment(`${reached} of ${parameters} parameters were read: refused by name, or accepted`)
  t.ok(reached > parameters / 2, `${reached} of ${parameters} parameters are read`)
})

/** The shapes that are sent to a parameter, by its number. */
function shapesOf(parameter: number): Shape[] {
  const count = Math.min(SHAPES.length, SHAPES_OF_EACH * Number(process.env.RINGFENCE_TEST_RUNS ?? 1))
  const first = (SEED + parameter * SHAPES_OF_EACH) % SHAPES.length
  return Array.from({ length: count }, (_, i) => SHAPES[(first + i) % SHAPES.length]!)
}

/** So that searches for a text have something to search. */
async function addUsers({ server }: World): Promise<void> {
  const stream = await Stream.open(server, { key: KEYS.testSecret })
  for (let id = 1; id <= USERS / 500; id++) {
    const updates = Array.from({ length: 500 }, (_, i) => ({
      deviceId: `searched-${id}-${i}`,
      description: 'ab e\u0301 1 a@a.example',
      latitude: 50 + i * 1e-4,
      longitude: 10,
      accuracy: 5,
      metadata: { key: 'ab' },
    }))
    stream.send({ type: 'track', id, updates })
    await stream.next()
  }
  await stream.close()
}

/** One parameter of one operation. */
class Trial {
  readonly #world: World
  readonly #client: RawClient
  readonly #parameter: TextParameter
  readonly #shapes: readonly Shape[]
  /** A hostile text was accepted, or refused with the parameter's name. */
  isReached = false
  readonly #statuses = new Set<number>()

  constructor(world: World, client: RawClient, parameter: TextParameter, shapes: readonly Shape[]) {
    this.#world = world
    this.#client = client
    this.#parameter = parameter
    this.#shapes = shapes
  }

  /** What is wrong, in sentences. */
  async faults(): Promise<string[]> {
    const faults: string[] = []
    const { longest } = this.#parameter
    let before: number | undefined
    for (const [i, length] of LENGTHS.entries()) {
      const cost = await this.#cost(length, this.#shapes)
      if (before !== undefined) faults.push(...(await this.#growth(LENGTHS[i - 1]!, length, before, cost)))
      before = cost
    }
    if (longest !== undefined && longest >= EIGHTH * EIGHTH && longest <= LENGTHS.at(-1)!) {
      const small = Math.floor(longest / EIGHTH)
      const costs = [
        await this.#cost(small, this.#shapes, true),
        await this.#cost(longest, this.#shapes, true),
      ] as const
      faults.push(...(await this.#growth(small, longest, ...costs, true)))
    }
    for (const status of this.#statuses) if (status === 500) faults.push('answered 500')
    return faults
  }

  async #growth(short: number, long: number, small: number, large: number, inCharacters = false) {
    const factor = long / short
    const isLinear = (one: number, other: number) => other <= TOLERANCE * factor * Math.max(one, LEAST_MS)
    if (isLinear(small, large)) return []
    const least = async (length: number, shapes: readonly Shape[]) => {
      let cost = Infinity
      for (let run = 0; run < RUNS; run++)
        cost = Math.min(cost, await this.#cost(length, shapes, inCharacters))
      return cost
    }
    const one = await least(short, this.#shapes)
    const other = await least(long, this.#shapes)
    if (isLinear(one, other)) return []
    const dear: string[] = []
    for (const shape of this.#shapes)
      if (!isLinear(await least(short, [shape]), await least(long, [shape]))) dear.push(shape.name)
    return [
      `${other.toFixed(1)} ms of ${long} characters, ${one.toFixed(1)} ms of ${short}; ${dear.join(', ') || 'all together'}`,
    ]
  }

  /** Processor time of the server, in milliseconds, for a request with each of the shapes. */
  async #cost(length: number, shapes: readonly Shape[], inCharacters = false): Promise<number> {
    const { isInBody, request } = this.#parameter
    const lengthOf = inCharacters ? (text: string) => text.length : isInBody ? jsonLength : urlLength
    const before = await this.#processorMs()
    for (const shape of shapes) {
      const answer = await this.#client.ask(request(textOf(shape, length, lengthOf)))
      if (answer === undefined) continue
      this.#statuses.add(answer.status)
      this.isReached ||= this.#isRead(answer)
    }
    return (await this.#processorMs()) - before
  }

  async #processorMs(): Promise<number> {
    const { body } = await this.#world.server.api('GET', '/metrics', undefined, null)
    return 1000 * Number(/^ringfence_cpu_seconds_total (\S+)$/m.exec(body)![1])
  }

  #isRead({ status, text }: WireAnswer): boolean {
    if (status < 300 || status === 404) return true
    const param = status === 400 && /^\{"meta":\{"code":400,(?:.*?,)?"param":"([^"]+)"/.exec(text)?.[1]
    return typeof param === 'string' && this.#parameter.name.includes(param.split(/[.[]/)[0]!)
  }
}

/** Sends the requests of one operation over one connection, which is opened again if the server closes it. */
class RawClient {
  readonly #world: World
  readonly #operation: Operation
  #connection: Connection | undefined

  constructor(world: World, operation: Operation) {
    this.#world = world
    this.#operation = operation
  }

  close(): void {
    this.#connection?.destroy()
  }

  /** Undefined if the server closed the connection, because a request was too long. */
  async ask({ target, body }: { target: string; body: string | undefined }): Promise<WireAnswer | undefined> {
    const { method } = this.#operation
    const lines = [`${method} ${this.#filled(target)} HTTP/1.1`, `Host: 127.0.0.1:${this.#world.port}`]
    for (const [name, value] of this.#identity()) lines.push(`${name}: ${value}`)
    const content = Buffer.from(body === undefined ? '' : this.#filled(body))
    if (body !== undefined) lines.push('Content-Type: application/json')
    if (body !== undefined || method !== 'GET') lines.push(`Content-Length: ${content.length}`)
    const bytes = Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), content])
    for (;;) {
      if (this.#connection === undefined || this.#connection.closed)
        this.#connection = await Connection.open(this.#world.port)
      const connection = this.#connection
      const wasUsed = connection.used
      try {
        const answer = await connection.write(bytes).answer(GIVE_UP_MS)
        if (answer === undefined) throw new Error(`no answer to ${method} ${target.slice(0, 100)}`)
        const { headers, status } = answer
        const isStream = headers.get('content-type') === 'text/event-stream'
        if (isStream || status === 431 || headers.get('connection') === 'close') this.#drop()
        return answer
      } catch (error) {
        this.#drop()
        if (!(error instanceof Closed)) throw error
        // The server closes a connection that has been idle, or whose request is longer than it reads.
        if (!wasUsed) return undefined
      }
    }
  }

  #drop(): void {
    this.#connection?.destroy()
    this.#connection = undefined
  }

  #filled(text: string): string {
    if (!text.includes('§')) return text
    return filledText(text, MARKS['one-test'], (kind, draw) => this.#world.id(kind, draw, 'one-test'))
  }

  #identity(): (readonly [string, string])[] {
    const { tags, security = [] } = this.#operation.definition
    const schemes: string[] = security.flatMap((one: object) => Object.keys(one))
    const isOfPerson = tags.includes('People') || (schemes.length === 1 && schemes[0] === 'session')
    return isOfPerson ? Object.entries(this.#world.cookie) : [['Authorization', KEYS.testSecret]]
  }
}
