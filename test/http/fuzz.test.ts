/**
 * Whatever bytes arrive, the answer is one that the interface allows, and nothing is left behind. This sends many,
 * but only to toy routes; test/fuzz does the same to the whole server.
 */
import { Agent, request } from 'node:http'
import t from 'tap'
import { mutated } from '../fuzz/schema.ts'
import fc from '../kit/fastCheck.ts'
import { toyServer, type Toy } from './toy.ts'

const RUNS = Number(process.env.RINGFENCE_TEST_RUNS ?? 1)
const BATCH = 100

const SEED_BODIES = [
  '{"deviceId":"d","latitude":1,"longitude":2,"accuracy":5,"metadata":{"a":1,"b":"x"}}',
  String.raw`{"deviceId":"\u00e4\ud83d\ude00","latitude":-90,"longitude":180,"items":[{"name":"n","weight":1e2}]}`,
  'deviceId=d&latitude=1&longitude=2&metadata[a]=%20&coordinates[]=1&coordinates[]=2',
]

const anyBytes = fc.uint8Array({ maxLength: 300 })
const untouched = fc.constantFrom(...SEED_BODIES).map((text) => new TextEncoder().encode(text))
const anyJson = fc.json({ maxDepth: 8 }).map((text) => new TextEncoder().encode(text))

const body = fc.record({
  bytes: fc.oneof(anyBytes, { weight: 2, arbitrary: mutated(untouched) }, anyJson, untouched),
  type: fc.constantFrom('application/json', 'application/x-www-form-urlencoded', undefined),
  chunked: fc.boolean(),
})

function post(
  toy: Toy,
  agent: Agent,
  drawn: { bytes: Uint8Array; type: string | undefined; chunked: boolean },
) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request(
      {
        port: toy.port,
        host: '127.0.0.1',
        agent,
        method: 'POST',
        path: '/v1/track',
        headers: {
          authorization: 'pk',
          ...(drawn.type === undefined ? {} : { 'content-type': drawn.type }),
          ...(drawn.chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': drawn.bytes.length }),
        },
      },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (piece: string) => (text += piece))
        answer.on('end', () => resolve({ status: answer.statusCode!, text }))
      },
    )
    sent.on('error', reject)
    sent.end(drawn.bytes)
  })
}

t.test('10,000 bodies are all answered, and never with a 500', async (t) => {
  const toy = await toyServer(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  t.teardown(() => agent.destroy())
  const seen = new Map<number, number>()
  await fc.assert(
    fc.asyncProperty(fc.array(body, { minLength: BATCH, maxLength: BATCH }), async (drawn) => {
      const answers = await Promise.all(drawn.map((one) => post(toy, agent, one)))
      for (const { status, text } of answers) {
        seen.set(status, (seen.get(status) ?? 0) + 1)
        if (status !== 200 && status !== 400) throw new Error(`answered ${status} ${text}`)
        if (JSON.parse(text).meta.code !== status) throw new Error(text)
      }
    }),
    { numRuns: (10_000 / BATCH) * RUNS },
  )
  t.ok(seen.get(200)! > 100, `some were good: ${seen.get(200)}`)
  t.ok(seen.get(400)! > 1000, `most were not: ${seen.get(400)}`)
  t.equal(toy.server.inFlight, 0)
  t.equal(toy.server.heldBytes, 0)
  t.strictSame(toy.logged, [])
})

t.test('queries and paths of any text', async (t) => {
  const toy = await toyServer(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  t.teardown(() => agent.destroy())
  const piece = fc.constantFrom(
    'limit',
    'near',
    'metadata',
    '[',
    ']',
    '=',
    '&',
    '%',
    '%20',
    '%ff',
    '+',
    '1',
    ',',
    '{}',
    '__proto__',
  )
  const target = fc.tuple(
    fc.constantFrom('/v1/search?', '/v1/things/', '/v1/search?metadata[', '/'),
    fc.array(fc.oneof(piece, fc.string({ maxLength: 5 }).map(encodeURI)), { maxLength: 12 }),
  )
  await fc.assert(
    fc.asyncProperty(target, async ([start, pieces]) => {
      const path = `${start}${pieces.join('').replaceAll(/[^\x21-\x7e]/g, '')}`
      const status = await new Promise<number>((resolve, reject) => {
        request({ port: toy.port, host: '127.0.0.1', agent, path }, (answer) => {
          answer.resume()
          answer.on('end', () => resolve(answer.statusCode!))
        })
          .on('error', reject)
          .end()
      })
      if (![200, 400, 401, 403, 404, 405].includes(status)) throw new Error(`${path} answered ${status}`)
    }),
    { numRuns: 1000 * RUNS },
  )
  t.equal(toy.server.inFlight, 0)
  t.strictSame(toy.logged, [])
})
