import t from 'tap'
import { ApiContract } from './apiContract.ts'

const AT = '2026-11-20T04:21:00.123Z'
const JSON_TYPE = 'application/json; charset=utf-8'

const contract = new ApiContract(
  JSON.stringify({
    paths: {
      '/v1/things': {
        get: {
          responses: {
            200: {
              content: {
                'application/json': {
                  schema: {
                    type: 'object',
                    required: ['meta', 'things'],
                    properties: {
                      meta: { type: 'object', properties: { code: { type: 'integer' } } },
                      things: { type: 'array', items: { $ref: '#/components/schemas/Thing' } },
                    },
                  },
                },
              },
            },
            400: { $ref: '#/components/responses/Error400' },
          },
        },
      },
      '/v1/things/{id}/size': { get: answerOf('size') },
      '/v1/{kind}/{id}/size': { get: answerOf('width') },
      '/v1/names/{id}/update': { get: { ...answerOf('size'), 'x-ringfence-unescaped': true } },
    },
    components: {
      schemas: {
        Thing: {
          type: 'object',
          required: ['_id'],
          properties: { _id: { type: 'string' }, at: { type: 'string', format: 'date-time' }, metadata: {} },
        },
      },
      responses: {
        Error400: {
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['meta'],
                properties: { meta: { type: 'object', properties: { code: {}, message: {}, param: {} } } },
              },
            },
          },
        },
      },
    },
  }),
)

function answerOf(name: string) {
  const schema = {
    type: 'object',
    required: [name],
    properties: { meta: { type: 'object' }, [name]: { type: 'number' } },
  }
  return { responses: { 200: { content: { 'application/json': { schema } } } } }
}

function check(body: unknown, status = 200, path = '/v1/things?limit=1', more: Record<string, string> = {}) {
  const headers = new Headers({
    'content-type': JSON_TYPE,
    'x-radar-request-id': '1',
    'access-control-allow-origin': '*',
    ...more,
  })
  contract.check('GET', path, { status, body, headers })
}

const meta = { code: 200 }

t.test('an answer that differs from the document is refused', async (t) => {
  check({ meta, things: [{ _id: 'a', at: AT, metadata: { any: [{ thing: 1 }] } }] })
  check({ meta: { code: 400, message: 'limit: no', param: 'limit' } }, 400)
  const refused: [RegExp, ...Parameters<typeof check>][] = [
    [/this status is not documented/, { meta: { code: 409, message: 'x' } }, 409],
    [/text\/csv is not documented/, 'a,b', 200, '/v1/things', { 'content-type': 'text/csv' }],
    [/required property 'things'/, { meta }],
    [/\/things\/0 must have required property '_id'/, { meta, things: [{}] }],
    [/\/things\/0\/_id must be string/, { meta, things: [{ _id: 1 }] }],
    [/\/things\/0\/at must match format/, { meta, things: [{ _id: 'a', at: '2026-11-20T04:21:00Z' }] }],
    [/\.things\[1\]\.x is not documented/, { meta, things: [{ _id: 'a' }, { _id: 'b', x: 1 }] }],
    [/meta\.code is 201/, { meta: { code: 201 }, things: [] }],
    [/no meta\.message/, { meta: { code: 400 } }, 400],
    [/for a route that is not documented/, { meta }, 200, '/v1/nothing'],
    [/no request id/, { meta, things: [] }, 200, '/v1/things', { 'x-radar-request-id': '' }],
    [/no CORS header/, { meta, things: [] }, 200, '/v1/things', { 'access-control-allow-origin': 'x' }],
  ]
  for (const [error, ...answer] of refused) t.throws(() => check(...answer), error)
})

t.test('a path of two operations, and a parameter with slashes', async (t) => {
  check({ meta, size: 1 }, 200, '/v1/things/a/size')
  check({ meta, width: 1 }, 200, '/v1/things/a/size')
  t.throws(() => check({ meta, depth: 1 }, 200, '/v1/things/a/size'), /required property 'size'/)
  check({ meta, size: 1 }, 200, '/v1/names/a/b/c/update')
  t.throws(() => check({ meta, width: 1 }, 200, '/v1/names/a/b/c/update'))
})

t.test('pages, and paths that do not exist', async () => {
  check('<html>', 200, '/docs', { 'content-type': 'text/html' })
  check({ meta: { code: 404, message: 'Not found.' } }, 404, '/v1/nothing')
})
