/** The role that each endpoint needs, and the walk that tries every role on every endpoint of a server. */
import type { Test } from 'tap'
import { includes, ROLES, type Role } from '../../src/model/role.ts'
import { Browser } from './kit.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- documents of every shape
type Json = any

/** Endpoints that a person needs more for than the method says: GET `read`, all others `write`. */
const OTHERS: Readonly<Record<string, Role>> = {
  'POST /v1/route/match': 'read',
  'POST /v1/sessions/current/ticket': 'read',
  'DELETE /v1/sessions/current': 'read',
  'DELETE /v1/sessions/{id}': 'read',
  'PUT /v1/account/password': 'read',
  'GET /v1/keys': 'admin',
  'POST /v1/keys/{kind}/rotate': 'admin',
  'PATCH /v1/settings': 'admin',
  'POST /v1/webhooks': 'admin',
  'PATCH /v1/webhooks/{id}': 'admin',
  'DELETE /v1/webhooks/{id}': 'admin',
  'POST /v1/webhooks/{id}/rotate': 'admin',
  'POST /v1/webhooks/{id}/enable': 'admin',
  'POST /v1/webhooks/{id}/test': 'admin',
  'PUT /v1/geofence-sync': 'admin',
  'POST /v1/geofence-sync/test': 'admin',
  'POST /v1/notifications/test': 'admin',
  'POST /v1/hooks': 'admin',
  'PUT /v1/hooks/{id}': 'admin',
  'PUT /v1/hooks/{tag}/{externalId}': 'admin',
  'DELETE /v1/hooks/{id}': 'admin',
  'DELETE /v1/hooks/{tag}/{externalId}': 'admin',
  'GET /v1/system': 'admin',
  'GET /v1/map-regions': 'admin',
  'PUT /v1/map-regions/{name}': 'admin',
  'GET /v1/map-regions/imports': 'admin',
  'GET /v1/map-regions/imports/{id}': 'admin',
  'POST /v1/map-regions/imports/{id}/cancel': 'admin',
  'GET /v1/audit': 'admin',
  'GET /v1/accounts': 'admin',
  'POST /v1/accounts': 'admin',
  'PATCH /v1/accounts/{id}': 'admin',
  'DELETE /v1/accounts/{id}': 'admin',
  'POST /v1/accounts/{id}/invitation': 'admin',
}

/** For people with an account alone: a session of a key may not. */
const ACCOUNTS_ONLY = new Set([
  'POST /v1/keys/{kind}/rotate',
  'PUT /v1/account/password',
  ...Object.keys(OTHERS).filter((name) => name.includes('/v1/accounts') || name === 'GET /v1/audit'),
])

/** Whatever the answer is, it is not that of a missing session or role. */
const ADMITTED = /^(?!401|403)/

/** Ends the session, or an account; or it never ends: it is tried with a role that is too low only. */
const NOT_CARRIED_OUT = new Set(['DELETE /v1/sessions/current', 'GET /v1/events/stream'])

interface Operation {
  /** `GET /v1/keys` */
  readonly name: string
  readonly method: string
  /** With an invented value for each parameter. */
  readonly path: string
  readonly definition: Json
}

async function operationsOf(url: string): Promise<Operation[]> {
  const document: Json = await (await fetch(`${url}/v1/openapi.json`)).json()
  return Object.entries(document.paths as Json).flatMap(([path, methods]) =>
    Object.entries(methods as Json)
      .filter(([, definition]) => (definition as Json).responses[101] === undefined)
      .map(([method, definition]) => ({
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path: path.replaceAll(
          /\{\w+\}/g,
          path.includes('/keys/') ? 'publishable' : 'ffffffffffffffffffffffff',
        ),
        definition,
      })),
  )
}

/** What nobody can carry out: a body that is no object, or is not complete. */
const BODY = { kind: 'nothing', oldKeyValidUntil: 'never', password: 1, dwellEvents: 'perhaps' }

/**
 * Tries every endpoint with each role, with a session of a key, and without a session.
 * @param cookies by role, and of a session of the secret key of the test environment
 */
export async function walkRoles(
  t: Test,
  url: string,
  cookies: Readonly<Record<Role | 'key', string>>,
): Promise<void> {
  const operations = await operationsOf(url)
  const protectedOnes = operations.filter(({ definition }) => definition.security.length > 0)
  t.ok(protectedOnes.length > 70, `${protectedOnes.length} endpoints`)
  const browserOf = (cookie: string) => {
    const browser = new Browser(url)
    browser.cookie = cookie
    return browser
  }
  const browsers = {
    read: browserOf(cookies.read),
    write: browserOf(cookies.write),
    admin: browserOf(cookies.admin),
    key: browserOf(cookies.key),
    nobody: browserOf(''),
  }
  const ask = async (who: keyof typeof browsers, { method, path }: Operation): Promise<number> => {
    const browser = browsers[who]
    const hasBody = method !== 'GET' && method !== 'DELETE'
    const { cookie } = browser
    const { status } = await browser.call(method, path, hasBody ? BODY : undefined)
    browser.cookie = cookie
    return status
  }
  const walk = async (operation: Operation): Promise<void> => {
    const { name, method, definition } = operation
    const needed = OTHERS[name] ?? (method === 'GET' ? 'read' : 'write')
    t.equal(definition['x-ringfence-role'], needed, `${name} says its role`)
    t.match(definition.description, `\`${needed}\``, `${name} says its role to people`)
    t.equal(await ask('nobody', operation), 401, `${name} without a session`)
    const isCarriedOut = !NOT_CARRIED_OUT.has(name)
    for (const role of ROLES) {
      const isEnough = includes(role, needed)
      if (isEnough && !isCarriedOut) continue
      const status = await ask(role, operation)
      if (isEnough) t.match(String(status), ADMITTED, `${name} as ${role}`)
      else t.equal(status, 403, `${name} as ${role}`)
    }
    if (!isCarriedOut) return
    const ofKey = await ask('key', operation)
    if (ACCOUNTS_ONLY.has(name)) t.equal(ofKey, 403, `${name} with a session of a key`)
    else t.match(String(ofKey), ADMITTED, `${name} with a session of a key`)
  }
  await Promise.all(protectedOnes.map(walk))
  for (const operation of operations.filter((one) => !protectedOnes.includes(one)))
    t.notOk(
      ['/v1/'].some((prefix) => operation.path.startsWith(prefix)) &&
        !['/v1/openapi.json', '/v1/asyncapi.json', '/v1/sign-in', '/v1/sessions'].includes(operation.path) &&
        !operation.path.startsWith('/v1/invitations/'),
      `${operation.name} is open to everybody on purpose`,
    )
}
