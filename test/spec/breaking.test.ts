import { readFileSync } from 'node:fs'
import t from 'tap'
import { startServer } from '../kit/server.ts'
import { breakingChanges } from './breaking.ts'
import { RELEASED, withoutTexts } from './released.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- documents of every shape
type Json = any

t.test('nothing that clients of the last release rely on has changed', async (t) => {
  const server = await startServer(t, { env: { RINGFENCE_RATE_LIMITS: 'on' } })
  const released = JSON.parse(readFileSync(RELEASED, 'utf8'))
  t.ok(Object.keys(released.paths).length > 50)
  t.strictSame(
    breakingChanges(released, server.contract!.document),
    [],
    'see docs/compatibility.md; before the first release, a deliberate change is kept with npm run release:interface',
  )
})

/** A small interface: `edit` changes a copy of it. */
function changed(edit: (document: Json) => void): string[] {
  const after = structuredClone(BEFORE)
  edit(after)
  return breakingChanges(BEFORE, after)
}

const BEFORE: Json = {
  paths: {
    '/v1/things': {
      get: {
        operationId: 'getThings',
        security: [{ publishableKey: [] }],
        parameters: [
          { name: 'near', in: 'query', required: true, schema: { type: 'string' } },
          {
            name: 'limit',
            in: 'query',
            required: false,
            schema: { type: 'integer', minimum: 1, maximum: 100 },
          },
          { name: 'mode', in: 'query', required: false, schema: { type: 'string', enum: ['car', 'foot'] } },
        ],
        responses: {
          200: {
            content: {
              'application/json': {
                schema: {
                  allOf: [
                    { type: 'object', required: ['meta'], properties: { meta: { type: 'object' } } },
                    {
                      type: 'object',
                      required: ['things'],
                      properties: {
                        things: { type: 'array', items: { $ref: '#/components/schemas/Thing' } },
                      },
                    },
                  ],
                },
              },
              'text/csv': { schema: { type: 'string' } },
            },
          },
          400: { content: { 'application/json': { schema: {} } } },
        },
      },
      post: {
        operationId: 'postThings',
        security: [{ secretKey: [] }],
        requestBody: {
          required: false,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['name'],
                properties: {
                  name: { type: 'string', maxLength: 10 },
                  value: { anyOf: [{ type: 'string' }, { type: 'number' }] },
                },
              },
            },
          },
        },
        responses: {
          200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
        },
      },
    },
  },
  components: {
    schemas: {
      Thing: {
        type: 'object',
        required: ['_id'],
        properties: {
          _id: { type: 'string' },
          kind: { type: 'string', enum: ['a', 'b'] },
          size: { anyOf: [{ type: 'number' }, { type: 'null' }] },
          parent: { $ref: '#/components/schemas/Thing' },
        },
      },
    },
  },
}
const get = (document: Json) => document.paths['/v1/things'].get
const post = (document: Json) => document.paths['/v1/things'].post
const body = (document: Json) => post(document).requestBody.content['application/json'].schema
const thing = (document: Json) => document.components.schemas.Thing

t.test('what breaks clients', async (t) => {
  const cases: [string, (document: Json) => void][] = [
    ['GET /v1/things: the operation is gone', (d) => delete d.paths['/v1/things'].get],
    [
      'GET /v1/things: operationId is listThings, no longer getThings',
      (d) => (get(d).operationId = 'listThings'),
    ],
    ['GET /v1/things: publishableKey is no longer accepted', (d) => (get(d).security = [{ secretKey: [] }])],
    ['GET /v1/things: the parameter mode is gone', (d) => get(d).parameters.pop()],
    ['GET /v1/things: the parameter limit is required now', (d) => (get(d).parameters[1].required = true)],
    [
      'GET /v1/things: the parameter x is required now',
      (d) => get(d).parameters.push({ name: 'x', in: 'query', required: true, schema: {} }),
    ],
    ['GET /v1/things limit: maximum is 50 now', (d) => (get(d).parameters[1].schema.maximum = 50)],
    ['GET /v1/things limit: minimum is 2 now', (d) => (get(d).parameters[1].schema.minimum = 2)],
    ['GET /v1/things limit: maxLength is 3 now', (d) => (get(d).parameters[1].schema.maxLength = 3)],
    ['GET /v1/things near: the pattern is ^x$ now', (d) => (get(d).parameters[0].schema.pattern = '^x$')],
    ['GET /v1/things mode: foot is no longer accepted', (d) => get(d).parameters[2].schema.enum.pop()],
    [
      'GET /v1/things near: any value is no longer accepted',
      (d) => (get(d).parameters[0].schema.enum = ['here']),
    ],
    [
      'GET /v1/things near: string is no longer accepted',
      (d) => (get(d).parameters[0].schema.type = 'number'),
    ],
    ['GET /v1/things: the status 200 is gone', (d) => delete get(d).responses[200]],
    ['GET /v1/things → 200: text/csv is gone', (d) => delete get(d).responses[200].content['text/csv']],
    ['POST /v1/things: a body is required now', (d) => (post(d).requestBody.required = true)],
    ['POST /v1/things body: application/json is gone', (d) => (post(d).requestBody.content = {})],
    ['POST /v1/things body: application/json is gone', (d) => delete post(d).requestBody],
    ['POST /v1/things body: value is gone', (d) => delete body(d).properties.value],
    ['POST /v1/things body: value is required now', (d) => body(d).required.push('value')],
    [
      'POST /v1/things body: unknown members are no longer accepted',
      (d) => (body(d).additionalProperties = false),
    ],
    [
      'POST /v1/things body.value: alternative 2 (number) is no longer accepted',
      (d) => body(d).properties.value.anyOf.pop(),
    ],
    [
      'POST /v1/things body.value: alternative 1 (string) is no longer accepted',
      (d) => (body(d).properties.value = { type: 'number' }),
    ],
    ['Thing: _id may be missing now', (d) => thing(d).required.pop()],
    ['Thing: kind is gone', (d) => delete thing(d).properties.kind],
    ['Thing.kind: any value is possible now', (d) => delete thing(d).properties.kind.enum],
    ['Thing._id: number is new', (d) => (thing(d).properties._id.type = ['string', 'number'])],
    ['Thing._id: any type is new', (d) => delete thing(d).properties._id.type],
    [
      'Thing.size: alternative 3 (string) is new',
      (d) => thing(d).properties.size.anyOf.push({ type: 'string' }),
    ],
  ]
  for (const [line, edit] of cases) t.strictSame(changed(edit), [line], line)
})

t.test('what does not', async (t) => {
  const cases: Record<string, (document: Json) => void> = {
    nothing: () => {},
    'a new operation': (d) => (d.paths['/v1/others'] = { get: get(d) }),
    'a new parameter': (d) => get(d).parameters.push({ name: 'x', in: 'query', required: false, schema: {} }),
    'a parameter that is no longer required': (d) => (get(d).parameters[0].required = false),
    'a wider range': (d) => (get(d).parameters[1].schema.maximum = 1000),
    'a number instead of an integer': (d) => (get(d).parameters[1].schema.type = 'number'),
    'a new value of a parameter': (d) => get(d).parameters[2].schema.enum.push('bike'),
    'a parameter without limits': (d) => (get(d).parameters[1].schema = {}),
    'a weaker key': (d) => (post(d).security = [{ publishableKey: [] }]),
    'no key': (d) => (post(d).security = []),
    'a new status of errors': (d) => (get(d).responses[402] = get(d).responses[400]),
    'one error fewer': (d) => delete get(d).responses[400],
    'a new optional member of a body': (d) => (body(d).properties.other = {}),
    'a member of a body that is no longer required': (d) => body(d).required.pop(),
    'a new alternative of a body': (d) => body(d).properties.value.anyOf.push({ type: 'boolean' }),
    'a new member of an answer': (d) => (thing(d).properties.other = {}),
    'a new value of an answer': (d) => thing(d).properties.kind.enum.push('c'),
    'one alternative of an answer fewer': (d) => thing(d).properties.size.anyOf.pop(),
    'an integer instead of a number': (d) => (thing(d).properties.size.anyOf[0].type = 'integer'),
    'other texts': (d) => (get(d).summary = 'Things'),
  }
  for (const [name, edit] of Object.entries(cases)) t.strictSame(changed(edit), [], name)
})

t.test('texts are not kept, but members that are called like them are', async (t) => {
  t.strictSame(
    withoutTexts({
      description: 'x',
      examples: [1],
      properties: { description: { type: 'string', description: 'y' }, example: {} },
    }),
    { properties: { description: { type: 'string' }, example: {} } },
  )
})
