/**
 * The fuzzer itself: it generates what the schemas describe, it notices each kind of fault, and a few of its rounds
 * pass. For an hour of fuzzing, run `npm run fuzz -- --minutes 60`.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Compile } from 'typebox/schema'
import type { Json } from '../e2e/contract.ts'
import fc from '../kit/fastCheck.ts'
import { Attacks, BROKEN } from './attacks.ts'
import { runCampaign } from './campaign.ts'
import { Exchanges, type Target } from './exchange.ts'
import { Known } from './known.ts'
import { escaped, filledBytes, filledText, MARK } from './placeholders.ts'
import type { DrawnRequest } from './requests.ts'
import { jsonText, mutated, spoiled, valuesOf } from './schema.ts'
import { tallyText } from './tally.ts'
import { MARKS, World } from './world.ts'

const RUNS = Number(process.env.RINGFENCE_TEST_RUNS ?? 1)
const SEED = Number(process.env.RINGFENCE_SEED ?? Date.now() % 1e9)
const NO_HINTS = { field: () => undefined, object: () => undefined }

/** A round has some 600 requests; calls of which none was accepted get up to 200 more. */
const ROUNDS = 2

t.test('a few rounds', async (t) => {
  const result = await runCampaign({ seed: SEED, until: Infinity, rounds: ROUNDS * RUNS, isPatient: false })
  const { calls, ...figures } = result
  t.ok(result.statuses['200']! > result.requests / 5, 'many requests are good')
  t.ok(result.statuses['400']! > result.requests / 20, 'many are not')
  t.ok(result.canaryAnswers > 2)
  const never = Object.entries(calls).filter(([, { accepted }]) => accepted === 0)
  t.strictSame(
    never.map(([name, { commonest }]) => `${name}: ${commonest}`),
    [],
    'every call of the document is accepted at least once',
  )
  t.comment(`${JSON.stringify(figures)}\n${tallyText(calls)}`)
})

t.test('the server survives each broken request', async (t) => {
  const world = await World.create()
  t.teardown(() => world.dispose())
  const attacks = new Attacks(world)
  await attacks.play(
    BROKEN.map((text) => ({ kind: 'bytes', bytes: Uint8Array.from(Buffer.from(text, 'latin1')) })),
  )
  await attacks.finish()
  await world.examine()

  t.test('values fit the schemas that they were generated for', (t) => {
    for (const { method, path, definition } of world.api.operations) {
      const schema = definition.requestBody?.content['application/json']?.schema
      if (schema === undefined) continue
      const whole = world.api.resolve(schema)
      const compiled = Compile({ ...whole, components: world.api.resolve({ $ref: '#/components' }) })
      const values = valuesOf(whole, (part) => world.api.resolve(part), NO_HINTS)
      fc.assert(
        fc.property(values, (value) => compiled.Check(JSON.parse(jsonText(value)))),
        { numRuns: 50 * RUNS },
      )
      t.pass(`${method} ${path}`)
    }
    t.end()
  })
})

t.test('spoiled values and mutated bytes differ from their originals', (t) => {
  const value = { a: 1, b: ['x', { c: true }], d: 'text' }
  const text = JSON.stringify(value)
  const different = (arbitrary: fc.Arbitrary<string>) =>
    fc.sample(arbitrary, 300).filter((each) => each !== text).length
  t.ok(different(spoiled(fc.constant(value))) > 280)
  const bytes = mutated(fc.constant(new TextEncoder().encode(text))).map((each) =>
    Buffer.from(each).toString(),
  )
  t.ok(different(bytes) > 280)
  t.end()
})

t.test('placeholders are replaced in texts, bytes and forms', (t) => {
  const lookUp = (kind: string, draw: number) => `${kind}${draw}`
  t.equal(
    filledText(`/v1/x/§user:7§?a=${MARK}§pair.externalId:3§`, 'm', lookUp),
    '/v1/x/user7?a=mpair.externalId3',
  )
  const body = Buffer.concat([Buffer.from(`{"a":"${MARK}","b":"§geofence:12§"`), Buffer.from([0xff, 0xc2])])
  const filled = filledBytes(body, 'm', lookUp)
  t.equal(filled.toString('latin1'), '{"a":"m","b":"geofence12"\u00ff\u00c2')
  t.equal(filledBytes(Buffer.from(`a=${escaped('§user:1§')}`), 'm', lookUp).toString(), 'a=user1')
  t.equal(filledBytes(Buffer.from('a=%C2%A7user%3A1%C2%A7'), 'm', lookUp).toString(), 'a=user1')
  const plain = Buffer.from([0xc3, 0x28, 0])
  t.same(filledBytes(plain, 'm', lookUp), plain)
  t.end()
})

t.test('what answers contain is known later', (t) => {
  const known = new Known()
  const legs = [{ _id: 'l1' }, { _id: 'l2' }]
  known.learn({ trip: { _id: 't1', legs }, webhooks: [{ _id: 'w1' }] }, undefined, 'one-test')
  t.equal(known.pick('trip', 1, 'one-test'), 't1')
  t.equal(known.pick('webhook', 1, 'one-live'), 'w1', 'of another scope, if there is none of its own')
  t.equal(known.pick('way.trip', 1, 'one-test'), 't1')
  t.equal(known.pick('way.order', 1, 'one-test'), 'l2","l1')
  t.equal(known.pick('hook', 1, 'one-test'), 'none')
  known.hide('a1')
  known.learn({ account: { _id: 'a1' } }, undefined, 'one-test')
  t.equal(known.pick('account', 1, 'one-test'), 'none')
  known.learn(
    { session: { _id: 's1' }, account: { _id: 'a2', email: 'a@b.c' } },
    new Headers({ 'set-cookie': 'ringfence_session=token; Path=/' }),
    undefined,
  )
  t.equal(known.pick('member', 1, undefined), 'token')
  t.equal(known.pick('email', 1, undefined), 'a@b.c')
  t.end()
})

const GET: DrawnRequest = {
  method: 'GET',
  target: '/v1/users/§user:1§',
  caller: { kind: 'secret', live: false, bearer: true },
  headers: [],
  contentType: undefined,
  body: undefined,
  chunks: undefined,
}

/** A server that answers as the test says, and the information about it that the fuzzer needs. */
async function target(t: Test, answer: (req: IncomingMessage, res: ServerResponse) => void): Promise<Target> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    api: { operationOf: () => undefined, check: () => undefined },
    id: () => 'id',
    remember: () => undefined,
    canaryError: undefined,
  }
}

t.test('each kind of fault is noticed', async (t) => {
  const json =
    (status: number, body: Json, headers: Record<string, string> = {}) =>
    async (t: Test) => {
      const exchanges = new Exchanges(
        await target(t, (_, res) => {
          res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
        }),
      )
      t.teardown(() => exchanges.close())
      await exchanges.play([GET])
    }
  const error = (code: number) => ({ meta: { code, message: 'x' } })
  await json(404, error(404))(t)
  await json(404, { ...error(404), text: MARKS['one-test'] })(t)
  await t.rejects(json(500, error(500))(t), /answered 500/)
  await t.rejects(json(404, error(400))(t), /not the API's/)
  await t.rejects(json(404, { meta: { code: 404 } })(t), /not the API's/)
  await t.rejects(json(503, error(503))(t), /without Retry-After/)
  await json(503, error(503), { 'retry-after': '1' })(t)
  await t.rejects(json(404, { ...error(404), text: MARKS['one-live'] })(t), /mark of one-live/)
  await t.rejects(json(404, error(404), { 'x-a': MARKS['two-test'] })(t), /mark of two-test/)
  await t.rejects(json(200, {})(t), /not the API's/)

  const broken = (bytes: string) => async (t: Test) => {
    const exchanges = new Exchanges(await target(t, ({ socket }) => socket.end(bytes)))
    await exchanges.play([GET])
  }
  await t.rejects(broken('')(t), /closed after/)
  await t.rejects(broken('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{')(t), /closed after/)
  await t.rejects(broken('nonsense\r\n\r\n')(t), /no status line/)

  const attacks = new Attacks(
    await target(t, ({ socket }) => socket.end('HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n')),
  )
  await attacks.play([{ kind: 'cut', request: GET, at: 1e9 - 1, end: 'fin' }])
  await attacks.play([{ kind: 'halfClosed', request: GET }])
  await t.rejects(attacks.finish(), /answered 500/)
})
