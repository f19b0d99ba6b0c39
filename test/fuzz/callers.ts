/** Who sends generated requests. */
import type { Arbitrary } from 'fast-check'
import type { Operation } from '../e2e/contract.ts'
import { KEYS } from '../kit/server.ts'
import fc from '../kit/fastCheck.ts'
import type { Known, ScopeName } from './known.ts'

/** The caller. `live` chooses the environment. The words of `odd` are sent unchanged. */
export type Caller =
  | { readonly kind: 'publishable' | 'secret'; readonly live: boolean; readonly bearer: boolean }
  /** The cookie of a session: that of the fuzzer's own admin, of somebody with an account, or of anybody. */
  | {
      readonly kind: 'session'
      readonly whose: 'keeper' | 'member' | 'guest'
      readonly live: boolean
      readonly draw: number
    }
  /** The secret key of a project whose keys are replaced all the time. */
  | { readonly kind: 'rotator'; readonly live: boolean; readonly draw: number }
  /** A page of this server, without a key, each time in another network. */
  | { readonly kind: 'page'; readonly draw: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'odd'; readonly text: string }

/** What identifies a caller in a request. */
interface Identity {
  readonly scope?: ScopeName
  /** Header lines. */
  readonly lines: readonly string[]
}

/** Paths at which the fuzzer's own admin would end its own session. */
const FAREWELLS = /\/v1\/(?:sessions\/current|account\/password)$/
/** Only the keys of the third project may be replaced, because the rest of the run needs the others. */
const ROTATION = /\/v1\/keys\/.*\/rotate$/

/**
 * @param path of the request, without its query
 * @param pick {@link Known.pick}
 */
export function identityOf(caller: Caller, method: string, path: string, pick: Known['pick']): Identity {
  switch (caller.kind) {
    case 'none':
      return { lines: [] }
    case 'odd':
      return { lines: [`Authorization: ${caller.text}`] }
    case 'page': {
      const { draw } = caller
      return {
        lines: ['Origin: http://x', `X-Forwarded-For: 10.${draw >> 16}.${(draw >> 8) & 255}.${draw & 255}`],
      }
    }
    case 'rotator': {
      const scope = caller.live ? 'three-live' : 'three-test'
      return { scope, lines: [`Authorization: ${pick('thirdkey', caller.draw, scope)}`] }
    }
    case 'session': {
      if (ROTATION.test(path)) return { lines: [] }
      const { whose, live, draw } = caller
      const isFarewell = whose === 'keeper' && method !== 'GET' && FAREWELLS.test(path)
      const token = pick(isFarewell ? 'guest' : whose, draw, undefined)
      const environment = live ? 'live' : 'test'
      const lines = [
        `Cookie: ringfence_session=${token}`,
        `X-Ringfence-Environment: ${environment}`,
        'Origin: http://x',
      ]
      return { scope: `one-${environment}`, lines }
    }
    default: {
      if (ROTATION.test(path) && caller.kind === 'secret') return { lines: [] }
      const { key, scope } = keyOf(caller.kind, caller.live)
      return { scope, lines: [`Authorization: ${caller.bearer ? `Bearer ${key}` : key}`] }
    }
  }
}

/** The key of a caller of project 1, and its scope. */
export function keyOf(kind: 'publishable' | 'secret', live: boolean): { key: string; scope: ScopeName } {
  const secret = live ? KEYS.liveSecret : KEYS.testSecret
  const publishable = live ? KEYS.livePublishable : KEYS.testPublishable
  return { key: kind === 'secret' ? secret : publishable, scope: live ? 'one-live' : 'one-test' }
}

const keys = (kind: 'publishable' | 'secret'): Arbitrary<Caller> =>
  fc.record({ kind: fc.constant(kind), live: fc.boolean(), bearer: fc.boolean() })

const sessions = (whose: 'keeper' | 'member' | 'guest'): Arbitrary<Caller> =>
  fc.record({
    kind: fc.constant('session' as const),
    whose: fc.constant(whose),
    live: fc.boolean(),
    draw: fc.nat(400),
  })

const pages: Arbitrary<Caller> = fc.record({ kind: fc.constant('page' as const), draw: fc.nat(2 ** 24 - 1) })
const rotators: Arbitrary<Caller> = fc.record({
  kind: fc.constant('rotator' as const),
  live: fc.boolean(),
  draw: fc.nat(400),
})
const nobody: Arbitrary<Caller> = fc.constant({ kind: 'none' })
const odd: Arbitrary<Caller> = fc
  .constantFrom(
    'Bearer',
    'Bearer ',
    'Basic dXNlcjpwYXNz',
    'prj_test_sk_',
    `prj_live_sk_${'0'.repeat(40)}`,
    `prj_test_pk_${'g'.repeat(40)}`,
    'x'.repeat(3000),
    '__proto__',
    'null',
  )
  .map((text) => ({ kind: 'odd', text }))

/** Those who may use an operation most of the time, and others. */
export function callersOf({ method, path, definition }: Operation): Arbitrary<Caller> {
  const others = fc.oneof(
    { weight: 4, arbitrary: keys('publishable') },
    { weight: 4, arbitrary: keys('secret') },
    { weight: 2, arbitrary: sessions('guest') },
    { weight: 1, arbitrary: nobody },
    { weight: 1, arbitrary: odd },
  )
  return fc.oneof({ weight: 5, arbitrary: usual(method, path, definition) }, { weight: 1, arbitrary: others })
}

function usual(method: string, path: string, { security, tags }: Operation['definition']): Arbitrary<Caller> {
  if (path.endsWith('/rotate') && path.includes('/keys/')) return rotators
  if (method === 'DELETE' && path === '/v1/sessions/current') return sessions('guest')
  if (path === '/v1/account/password') return sessions('member')
  const schemes = (security ?? []).flatMap((one: object) => Object.keys(one))
  if (schemes.includes('session') && schemes.length === 1)
    return fc.oneof(
      { weight: 6, arbitrary: sessions('keeper') },
      { weight: 1, arbitrary: sessions('member') },
    )
  if (tags.includes('People')) return pages
  return fc.oneof({ weight: 8, arbitrary: keys('secret') }, { weight: 1, arbitrary: sessions('keeper') })
}
