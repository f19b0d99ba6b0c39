/** What the tests of people have in common: a server with a clock of its own, and browsers that keep a cookie. */
import type { Test } from 'tap'
import Type from 'typebox'
import { accountRoutes } from '../../src/accounts/accountRoutes.ts'
import type { Account, Cost } from '../../src/registry/people/rows.ts'
import { sessionLookup } from '../../src/accounts/sessionLookup.ts'
import { sessionRoutes } from '../../src/accounts/sessionRoutes.ts'
import { SignIn } from '../../src/accounts/signIn.ts'
import { Tickets } from '../../src/accounts/tickets.ts'
import { openApiDocument } from '../../src/http/openapi.ts'
import { route } from '../../src/http/route.ts'
import { createServer } from '../../src/http/server.ts'
import type { Role } from '../../src/model/role.ts'
import { keyRoutes } from '../../src/registry/projects/keyRoutes.ts'
import type { KeySet } from '../../src/registry/projects/keys.ts'
import { openRegistry, type Registry } from '../../src/registry/registry.ts'
import { settingsRoutes } from '../../src/registry/settings/settingsRoutes.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { ApiContract } from '../kit/apiContract.ts'

export const START = Date.UTC(2026, 10, 20)
export const PASSWORD = 'correct horse battery'
/** Takes a millisecond. */
export const CHEAP = { n: 2 ** 8, r: 8, p: 1 }

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

export interface Answered {
  readonly status: number
  readonly body: Json
  readonly headers: Headers
}

/** A client with the cookie of a session. Without a contract, its answers are compared with nothing. */
export class Browser {
  cookie = ''
  environment = 'test'
  readonly #url: string
  readonly #contract: ApiContract | undefined

  constructor(url: string, contract?: ApiContract) {
    this.#url = url
    this.#contract = contract
  }

  /** @param headers instead of the usual ones; undefined leaves one out */
  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Answered> {
    const usual = {
      cookie: this.cookie === '' ? undefined : this.cookie,
      'x-ringfence-environment': this.environment,
      origin: method === 'GET' ? undefined : this.#url,
      'content-type': body === undefined ? undefined : 'application/json',
      'user-agent': 'Test',
      ...headers,
    }
    const sent = Object.entries(usual).filter(([, value]) => value !== undefined) as [string, string][]
    const answer = await fetch(this.#url + path, {
      method,
      headers: sent,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const set = answer.headers.get('set-cookie')
    if (set !== null) this.cookie = set.slice(0, set.indexOf(';'))
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') ?? false
    const { status, headers: answered } = answer
    const result = { status, body: isJson ? JSON.parse(text) : text, headers: answered }
    this.#contract?.check(method, path, result)
    return result
  }
}

export interface PeopleServer {
  readonly url: string
  readonly registry: Registry
  readonly clock: ManualClock
  readonly keys: KeySet
  readonly signIn: SignIn
  browser(): Browser
  /** An account with the usual password, and a browser in which it has signed in. */
  person(email: string, role: Role, project?: number): Promise<{ browser: Browser; account: Account }>
}

export interface PeopleOptions {
  readonly publicUrl?: string
  readonly trustedProxies?: readonly string[]
  readonly byKey?: boolean
  readonly folder?: string
  /** Of hashes; cheap if absent. */
  readonly cost?: Cost
}

export async function servePeople(t: Test, options: PeopleOptions = {}): Promise<PeopleServer> {
  const clock = new ManualClock(START)
  const registry = openRegistry({
    folder: options.folder ?? t.testdir({}),
    clock,
    createIndex: createGeofenceIndex,
  })
  const keys = registry.createFirstProject()!
  const { people } = registry
  const signIn = new SignIn({
    people,
    keys: registry.keys,
    clock,
    byKey: options.byKey ?? true,
    cost: options.cost ?? CHEAP,
  })
  const tickets = new Tickets({ process: 'here', clock })
  const routes = [
    ...sessionRoutes({ people, signIn, tickets }),
    ...accountRoutes(people),
    ...keyRoutes(registry),
    ...settingsRoutes(registry.settings),
    WRITE,
  ]
  const contract = new ApiContract(JSON.stringify(openApiDocument(routes, 'test')))
  const server = createServer({
    routes,
    authenticate: (key) => registry.keys.authenticate(key),
    sessions: sessionLookup(people.sessions, tickets),
    publicUrl: options.publicUrl ?? '',
    trustedProxies: options.trustedProxies ?? [],
    clock,
  })
  const port = await server.listen('127.0.0.1', 0)
  t.teardown(async () => {
    await server.close()
    registry.close()
  })
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    registry,
    clock,
    keys,
    signIn,
    browser: () => new Browser(url, contract),
    async person(email, role, project = 1) {
      const { token } = people.accounts.create(project, email, email, role)
      const browser = new Browser(url, contract)
      const { status } = await browser.call('POST', `/v1/invitations/${token}`, { password: PASSWORD })
      if (status !== 200) throw new Error(`the invitation was answered ${status}`)
      return { browser, account: people.accounts.byEmail(email)! }
    },
  }
}

/** Something that needs the role write. */
const WRITE = route({
  method: 'POST',
  path: '/v1/written',
  auth: 'secret',
  role: 'write',
  summary: 'Write',
  tag: 'Test',
  answers: { 200: Type.Object({ scope: Type.Integer() }) },
  handler: (call) => ({ body: { scope: call.credentials!.scope } }),
})
