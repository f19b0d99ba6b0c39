/**
 * Bad input on the endpoints for people, as test/e2e/badInput.test.ts has it for all others: every answer is documented,
 * none is a 500, and at the end nothing has changed.
 */
import t from 'tap'
import { startApi, type Json, type Operation } from '../e2e/contract.ts'
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
  const headers = {
    cookie: `ringfence_session=${people.admin.token}`,
    origin: api.server.url,
    'x-ringfence-environment': 'test',
  }
  const call = (method: string, path: string, body?: unknown) => api.call(method, path, body, null, headers)
  const stateOf = async () => (await call('GET', '/v1/accounts')).body.accounts
  const before = await stateOf()
  const operations = api.operations.filter(({ definition }) => definition.tags.includes('People'))
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
