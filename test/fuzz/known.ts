/** What the fuzzer knows of the server: the ids, tokens and keys that earlier answers contained. */
import type { Json } from '../e2e/contract.ts'

/** A scope's name in the marks: project and environment. */
export type ScopeName = 'one-test' | 'one-live' | 'two-test' | 'two-live' | 'three-test' | 'three-live'

/** How many of a kind and scope are kept to be used again. */
const REMEMBERED = 40
/** Of replaced keys: the latest may be one before the last that was learned, if two were replaced at once. */
const REMEMBERED_KEYS = 3
/** Items of one list in an answer that are remembered. */
const MOST_OF_A_LIST = 5
/** Sessions, accounts and invitations belong to a project. */
const OF_PROJECT = 'one-test'
const INVITATION = /#invitation=([\w-]+)/
const NAME = /^[\w.-]{1,40}$/
const ENDED: ReadonlySet<string> = new Set(['completed', 'canceled', 'expired'])
const COOKIE = /^ringfence_session=([^;]+);/

/** The kind in placeholders of what an answer calls otherwise. */
function nameOf(kind: string, record: Json): string {
  if (kind === 'import') return `${record.kind}import`
  return kind === 'mapRegionImport' ? 'regionimport' : kind
}

/** By kind and scope. The oldest are dropped. */
export class Known {
  readonly #lists = new Map<string, string[]>()
  readonly #hidden = new Set<string>()

  /** An id that no request may name, because the fuzzer itself needs what it belongs to. */
  hide(id: string): void {
    this.#hidden.add(id)
  }

  add(kind: string, scope: ScopeName, text: string, most = REMEMBERED): void {
    if (this.#hidden.has(text)) return
    const key = `${kind} ${scope}`
    const texts = this.#lists.get(key) ?? []
    this.#lists.set(key, texts)
    if (texts.includes(text)) return
    texts.push(text)
    if (texts.length > most) texts.shift()
  }

  /** The only one of its kind. */
  set(kind: string, scope: ScopeName, text: string): void {
    this.#lists.set(`${kind} ${scope}`, [text])
  }

  /**
   * @param body an answer; `user` and `users` contain users, and so on
   * @param scope of the caller; undefined for a caller without a key
   */
  learn(body: Json, headers: Headers | undefined, scope: ScopeName | undefined): void {
    if (scope !== undefined) this.#collect(body, scope, '', 0)
    const invitation = INVITATION.exec(body?.invitation?.url ?? '')?.[1]
    if (invitation !== undefined) this.add('invitation', OF_PROJECT, invitation)
    const token = COOKIE.exec(headers?.get('set-cookie') ?? '')?.[1]
    if (token !== undefined && body?.session !== undefined) this.#signedIn(token, body)
    const key = body?.key
    if (key?.kind === 'secret' && typeof key.key === 'string' && scope?.startsWith('three'))
      this.add('thirdkey', scope, key.key, REMEMBERED_KEYS)
  }

  /**
   * One that is known; `none` if there is none. Four of five draws return one of the scope's own, if there are any.
   * @param name a kind, or a member of a kind whose texts are JSON
   */
  pick(name: string, draw: number, scope: ScopeName | undefined): string {
    const [kind, member] = name.split('.')
    const any = [...this.#lists.entries()]
      .filter(([key]) => key.startsWith(`${kind} `))
      .flatMap(([, texts]) => texts)
    const own = this.#lists.get(`${kind} ${scope}`) ?? any
    const texts = draw % 5 === 0 ? any : own
    // The latest ones are the most likely to be there still.
    const recent = draw % 2 === 0 ? texts.slice(-5) : texts
    const text = recent[Math.floor(draw / 5) % recent.length]
    if (text === undefined) return 'none'
    return member === undefined ? text : JSON.parse(text)[member]
  }

  #collect(body: Json, scope: ScopeName, kind: string, depth: number): void {
    if (typeof body !== 'object' || body === null || depth > 3) return
    if (Array.isArray(body)) {
      for (const item of body.slice(0, MOST_OF_A_LIST)) this.#collect(item, scope, kind, depth + 1)
      return
    }
    if (typeof body._id === 'string' && kind !== '') this.#record(kind, scope, body)
    for (const [key, member] of Object.entries(body))
      this.#collect(member, scope, key.replace(/ies$/, 'y').replace(/s$/, ''), depth + 1)
  }

  #record(kind: string, scope: ScopeName, record: Json): void {
    this.add(nameOf(kind, record), scope, record._id)
    const { tag, externalId } = record
    // Others would have to be escaped in a path.
    if (NAME.test(tag) && NAME.test(externalId))
      this.add(`${kind}pair`, scope, JSON.stringify({ tag, externalId }))
    if (kind === 'trip' && ENDED.has(record.status)) this.add('endedtrip', scope, record._id)
    if (kind === 'trip' && Array.isArray(record.legs) && record.legs.length > 0) {
      const ids = record.legs.map((leg: Json) => leg._id)
      const legs = { trip: record._id, id: ids[0], order: ids.toReversed().join('","') }
      this.add('way', scope, JSON.stringify(legs))
    }
  }

  #signedIn(token: string, { account, session }: Json): void {
    this.add('guest', OF_PROJECT, token)
    this.add('session', OF_PROJECT, session._id)
    if (account === undefined) return
    this.add('member', OF_PROJECT, token)
    this.add('email', OF_PROJECT, account.email)
  }
}
