/**
 * Bad input on the endpoints for people, as test/e2e/badInput.test.ts and requiredFields.test.ts have it for all others: every
 * answer is documented, none is a 500, what is missing or wrong is named, and what was refused has changed nothing.
 */
import t from 'tap'
import { startApi, type Api, type Json, type Operation } from '../e2e/contract.ts'
import { faultsOf, type Known } from '../e2e/requiredFields.ts'
import { bodyFaultsOf, queryFaultsOf, type Walked } from '../e2e/wrongValues.ts'
import { KEYS } from '../kit/server.ts'
import { PASSWORD } from './kit.ts'
import { seedPeople } from './seeded.ts'

const VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  1e308,
  '',
  'text',
  'a\u0000b@example.com',
  'x'.repeat(100_000),
  [],
  [null],
  {},
  { __proto__: null, a: null },
]
const SEGMENTS = ['x', '%00', '%FF', 'x'.repeat(2500), '..', '%F0%9F%92%A9', 'constructor', 'current%2f']

t.test('each parameter of each body and path', async (t) => {
  const data = t.testdir({})
  const people = seedPeople(data)
  const api = await startApi(t, { data })
  const { call } = api.withSession(`ringfence_session=${people.admin.token}`)
  const stateOf = async () => (await call('GET', '/v1/accounts')).body.accounts
  const before = await stateOf()
  const operations = api.forPeople
  t.ok(operations.length > 12)
  const good: Record<string, Json> = {
    'POST /v1/sessions': { key: 'prj_test_sk_unknown' },
    'POST /v1/invitations/{token}': { password: 'correct horse battery' },
    'PUT /v1/account/password': { current: 'x', password: 'short' },
    'POST /v1/accounts': { email: 'admin@example.com', name: 'Again', role: 'read' },
    'PATCH /v1/accounts/{id}': {},
  }
  const counts: Record<number, number> = {}
  const ask = async ({ method, path }: Operation, segment: string, body?: unknown) => {
    const { status } = await call(method, path.replaceAll(/\{\w+\}/g, segment), body)
    counts[status] = (counts[status] ?? 0) + 1
    t.ok(status < 500, `${method} ${path} ${segment} ${JSON.stringify(body)} → ${status}`)
  }
  for (const operation of operations) {
    const { method, path, definition } = operation
    const name = `${method} ${path}`
    if (name === 'DELETE /v1/sessions/current') continue
    const schema = api.resolve(definition.requestBody?.content['application/json'].schema ?? {})
    const body = definition.requestBody === undefined ? undefined : good[name]
    t.notOk(definition.requestBody !== undefined && body === undefined, `${name} has a body here`)
    if (path.includes('{')) for (const segment of SEGMENTS) await ask(operation, segment, body)
    for (const property of [...Object.keys(schema.properties ?? {}), 'unknown'])
      if (body !== undefined)
        for (const value of VALUES) await ask(operation, 'x', { ...body, [property]: value })
  }
  t.ok(counts[400]! > 60, JSON.stringify(counts))
  t.strictSame(await stateOf(), before)
})

t.test('a missing field and a wrong value are refused by name', async (t) => {
  const data = t.testdir({})
  const people = seedPeople(data)
  const served = await startApi(t, { data })
  const seeded = served.withSession(`ringfence_session=${people.admin.token}`)
  const invite = async (id: string): Promise<string> => {
    const { body } = await seeded.call('POST', `/v1/accounts/${id}/invitation`)
    return new URL(body.invitation.url).hash.split('=')[1]!
  }
  // An admin who has a password.
  const accepted = await seeded.call('POST', `/v1/invitations/${await invite(people.write.id)}`, {
    password: PASSWORD,
  })
  t.equal(accepted.status, 200)
  await seeded.call('PATCH', `/v1/accounts/${people.write.id}`, { role: 'admin' })
  const [cookie] = accepted.headers.get('set-cookie')!.split(';', 1)
  const api = served.withSession(cookie!)

  let token = await invite(people.read.id)
  const of = (place: string, values: Json, undo: Known['undo'] = async () => {}): Known => ({
    place,
    values,
    unknown: {},
    taken: [],
    undo,
  })
  const person = { email: 'new@example.com', name: 'New', role: 'read', disabled: false }
  const known: Readonly<Record<string, Known>> = {
    'POST /v1/sessions': of('/v1/sessions', {
      email: people.write.email,
      password: PASSWORD,
      key: KEYS.testSecret,
    }),
    'PUT /v1/account/password': of('/v1/account/password', { current: PASSWORD, password: PASSWORD }),
    'POST /v1/accounts': of('/v1/accounts', person, async ({ account }) => {
      await api.call('DELETE', `/v1/accounts/${account._id}`)
    }),
    'PATCH /v1/accounts/{id}': of(`/v1/accounts/${people.read.id}`, person),
    'POST /v1/invitations/{token}': {
      ...of('', { password: PASSWORD, name: 'Named' }, async () => {
        token = await invite(people.read.id)
      }),
      get place() {
        return `/v1/invitations/${token}`
      },
    },
  }
  const walked: Walked = new Set()
  let sum = 0
  for (const operation of api.forPeople) {
    const name = `${operation.method} ${operation.path}`
    const inQuery = await queryFaultsOf(api, operation, walked)
    t.strictSame(inQuery.faults, [], name)
    sum += inQuery.tried
    const schema = bodySchemaOf(api, operation)
    if (schema === undefined) continue
    if (known[name] === undefined) throw new Error(`no values are known for ${name}`)
    t.strictSame(await faultsOf(api, operation, schema, known[name], ['json']), [], name)
    const inBody = await bodyFaultsOf(api, operation, schema, known[name], walked)
    t.strictSame(inBody.faults, [], name)
    sum += inBody.tried
  }
  t.ok(sum > 70, `${sum} wrong values`)
})

function bodySchemaOf(api: Api, { definition }: Operation): Json | undefined {
  const schema = definition.requestBody?.content['application/json']?.schema
  return schema === undefined ? undefined : api.resolve(schema)
}
