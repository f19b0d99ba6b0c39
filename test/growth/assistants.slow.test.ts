/**
 * The server for assistants (`npm run mcp -- --port`) reads hostile texts in every argument of every tool, and hostile
 * bodies, in time in proportion to their length: its processor time and that of the server behind it are compared.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Connection, type WireAnswer } from '../fuzz/wire.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { jsonLength, SHAPES, textOf, type Shape } from './hostileTexts.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const MCP = fileURLToPath(new URL('../../src/cli/mcp.ts', import.meta.url))
const SKIP = process.platform !== 'linux' && 'processor time of a process is read as Linux tells it'
/** Characters. The last is longer than a body may be. */
const LENGTHS = [1000, 10_000, 100_000, 1_000_000]
const FACTOR = 10
const TOLERANCE = 3
/** Linux counts processor time in steps of 10 ms, and the garbage collector also takes its part. */
const LEAST_MS = 50
const ANSWER_MS = 60_000
const TICK_MS = 10

t.test('arguments and bodies', { skip: SKIP }, async (t) => {
  const server = await startServer(t)
  const mcp = spawn(
    'env',
    ['-u', 'NODE_OPTIONS', process.execPath, MCP, '--url', server.url, '--port', '0', '--write'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  t.teardown(async () => {
    mcp.kill()
    await once(mcp, 'close')
  })
  let output = ''
  mcp.stdout.setEncoding('utf8').on('data', (piece: string) => (output += piece))
  await until(() => output.includes('/mcp'))
  const port = Number(/:(\d+)\/mcp/.exec(output)![1])
  const client = new McpClient(port)
  t.teardown(() => client.close())
  const spent = () => processorMs(mcp.pid!) + processorMs(server.pid)

  const listed = resultOf(await client.ask(call('tools/list', {})))
  t.ok(listed.tools.length > 10, 'the tools are listed')

  for (const tool of listed.tools as Json[]) {
    const texts = argumentsOf(tool.inputSchema)
    if (texts.length === 0) continue
    await t.test(tool.name, async (t) => {
      const cost = async (length: number) => {
        const before = spent()
        for (const name of texts)
          for (const shape of SHAPES) {
            const given = {
              ...Object.fromEntries(texts.map((one) => [one, 'x'])),
              [name]: hostile(shape, length),
            }
            const answer = await client.ask(call('tools/call', { name: tool.name, arguments: given }))
            t.ok(answer === undefined || answer.status < 500, `${answer?.status} of ${name}, ${shape.name}`)
          }
        return spent() - before
      }
      await holds(t, cost)
    })
  }

  await t.test('bodies', async (t) => {
    const bodies: readonly ((n: number) => string)[] = [
      (n) => '['.repeat(n),
      (n) => '{"a":'.repeat(n / 5),
      (n) => `[${'{},'.repeat(n / 3)}{}]`,
      (n) => `{"jsonrpc":"2.0","id":1,"method":"${'a/'.repeat(n / 2)}"}`,
      (n) => `{"jsonrpc":"2.0","id":"${'1'.repeat(n)}","method":"tools/list"}`,
      (n) => `[${`${call('ping', {})},`.repeat(n / 60)}{}]`,
      (n) => ' '.repeat(n),
    ]
    const cost = async (length: number) => {
      const before = spent()
      for (const body of bodies) {
        const answer = await client.ask(body(length))
        t.ok(answer === undefined || answer.status < 500, `${answer?.status} of ${body(20)}`)
      }
      return spent() - before
    }
    await holds(t, cost)
  })
})

async function holds(
  t: { ok(value: unknown, message: string): unknown },
  cost: (length: number) => Promise<number>,
) {
  let before = await cost(LENGTHS[0]!)
  for (const length of LENGTHS.slice(1)) {
    const isLinear = (one: number, other: number) => other <= TOLERANCE * FACTOR * Math.max(one, LEAST_MS)
    let now = await cost(length)
    // Anything else that took the processors meanwhile does not come again.
    if (!isLinear(before, now)) now = Math.min(now, await cost(length))
    t.ok(isLinear(before, now), `${now} ms of ${length} characters, ${before} ms of a tenth`)
    before = now
  }
}

function hostile(shape: Shape, length: number): string {
  return textOf(shape, length, jsonLength)
}

/** Names of the arguments that may be texts. */
function argumentsOf({ properties = {} }: Json): string[] {
  const isText = (one: Json): boolean => one.type === 'string' || (one.anyOf ?? one.oneOf ?? []).some(isText)
  return Object.entries(properties).flatMap(([name, one]) => (isText(one) ? [name] : []))
}

function call(method: string, params: Json): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

function resultOf(answer: WireAnswer | undefined): Json {
  const whole = answer!.text
  return JSON.parse(whole.startsWith('{') ? whole : /^data: (.*)$/m.exec(whole)![1]!).result
}

/** Sends bodies over one connection, which is opened again if the other side closes it. */
class McpClient {
  readonly #port: number
  #connection: Connection | undefined

  constructor(port: number) {
    this.#port = port
  }

  close(): void {
    this.#connection?.destroy()
  }

  /** Undefined if the connection was closed before an answer came, because the body was too long. */
  async ask(body: string): Promise<WireAnswer | undefined> {
    if (this.#connection === undefined || this.#connection.closed)
      this.#connection = await Connection.open(this.#port)
    const content = Buffer.from(body)
    const head =
      `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\nAuthorization: ${KEYS.testSecret}\r\n` +
      'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n' +
      `MCP-Protocol-Version: 2025-06-18\r\nContent-Length: ${content.length}\r\n\r\n`
    try {
      const answer = await this.#connection
        .write(Buffer.concat([Buffer.from(head), content]))
        .answer(ANSWER_MS)
      if (answer === undefined) throw new Error('no answer')
      const isOver = answer.headers.get('connection') === 'close' || answer.status === 413
      if (isOver || answer.headers.get('content-type') === 'text/event-stream') this.#drop()
      return answer
    } catch (error) {
      this.#drop()
      if ((error as Error).name !== 'Closed') throw error
      return undefined
    }
  }

  #drop(): void {
    this.#connection?.destroy()
    this.#connection = undefined
  }
}

/** Milliseconds of processor time of a process so far, in user and system mode. */
function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return TICK_MS * (Number(fields[11]) + Number(fields[12]))
}
