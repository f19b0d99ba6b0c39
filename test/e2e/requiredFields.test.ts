/**
 * Every parameter of the OpenAPI document, left out and with values of every wrong kind. A missing required field is refused
 * with a 400 that names it; without any other field the body is accepted. A wrong value is refused with a 400 that names its
 * parameter. The operations for people: test/accounts/badInput.test.ts. Hostile values: badInput.test.ts.
 */
import t from 'tap'
import { startApi, type Operation } from './contract.ts'
import { knowledge } from './knownBodies.ts'
import { faultsOf, type Format } from './requiredFields.ts'
import { bodyFaultsOf, queryFaultsOf, type Walked } from './wrongValues.ts'

const IS_QUICK = process.env['RINGFENCE_TEST_RUNS'] === undefined
/** One of them in the quick suite, by RINGFENCE_SEED; both where more is drawn. */
const FORMATS: readonly Format[] = IS_QUICK
  ? [Number(process.env['RINGFENCE_SEED'] ?? Date.now()) % 2 === 0 ? 'json' : 'form']
  : ['json', 'form']
const nameOf = ({ method, path }: Operation) => `${method} ${path}`

const api = await startApi(t, {
  sample: true,
  env: { RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.1', RINGFENCE_SYNC_PRIVATE_ADDRESSES: '127.0.0.1' },
})
const known = await knowledge(api)
const operations = api.withoutPeople.filter(
  ({ definition }) => definition.requestBody?.content['application/json'] !== undefined,
)
const schemaOf = ({ definition }: Operation) =>
  api.resolve(definition.requestBody.content['application/json'].schema)

t.test('a missing required field is named, and a missing optional one is accepted', async (t) => {
  t.strictSame(operations.map(nameOf).toSorted(), Object.keys(known).toSorted(), 'all operations with a body')
  const seen = new Set<string>()
  for (const operation of operations) {
    const schema = schemaOf(operation)
    // Bodies with the same definition share its checks, so one case of the later ones is enough for the quick suite.
    const most = IS_QUICK && seen.has(JSON.stringify(schema)) ? 1 : Infinity
    seen.add(JSON.stringify(schema))
    t.strictSame(
      await faultsOf(api, operation, schema, known[nameOf(operation)]!, FORMATS, most),
      [],
      nameOf(operation),
    )
  }

  // The same with wrong lists, which shows that this test notices faults.
  const dearest = IS_QUICK ? [] : ['POST /v1/geofences']
  for (const name of [...dearest, 'PUT /v1/beacons/{id}', 'POST /v1/webhooks', 'POST /v1/route/match']) {
    const operation = operations.find((one) => nameOf(one) === name)!
    const schema = schemaOf(operation)
    const faults = (required: readonly string[]) =>
      faultsOf(api, operation, { ...schema, required }, known[name]!, FORMATS)
    const noticed = (found: readonly string[], pattern: RegExp) =>
      t.ok(found.length > 0 && found.every((fault) => pattern.test(fault)), `${name}: ${pattern}`)
    for (const one of schema.required) {
      const fewer = schema.required.filter((field: string) => field !== one)
      noticed(await faults(fewer), new RegExp(`without the optional ${one}: 400`))
    }
    const optional = Object.keys(schema.properties).at(-1)!
    noticed(
      await faults([...schema.required, optional]),
      new RegExp(
        `without the required ${optional}: (?:200|400 address: It was not found|400 placeId: Only the point)`,
      ),
    )
  }
})

t.test('each wrong value of each field of a body is refused by name', async (t) => {
  const walked: Walked = new Set()
  let sum = 0
  for (const operation of operations) {
    const { tried, faults } = await bodyFaultsOf(
      api,
      operation,
      schemaOf(operation),
      known[nameOf(operation)]!,
      walked,
    )
    t.strictSame(faults, [], nameOf(operation))
    sum += tried
  }
  t.ok(sum > 500, `${sum} wrong values`)
})

t.test('each wrong value of each parameter of a query or path is refused by name', async (t) => {
  const walked: Walked = new Set()
  let sum = 0
  for (const operation of api.withoutPeople) {
    const id = known[`PUT ${operation.path.replace('/users', '')}`] ?? known['PATCH /v1/webhooks/{id}']!
    const { tried, faults } = await queryFaultsOf(api, operation, walked, id.place.split('/').at(-1))
    t.strictSame(faults, [], nameOf(operation))
    sum += tried
  }
  t.ok(sum > 500, `${sum} wrong values`)
})
