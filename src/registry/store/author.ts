import { AsyncLocalStorage } from 'node:async_hooks'

/** Who makes an edit. */
export interface Author {
  readonly kind: 'session' | 'key' | 'command' | 'system'
  readonly id: string
  /** For people: an e-mail address, or the last four characters of a key. */
  readonly label: string
  readonly ip?: string
  readonly requestId?: string
  /** An edit of this author was entered in the audit. */
  hasEntered?: boolean
}

const SYSTEM: Author = { kind: 'system', id: '', label: 'system' }

/**
 * The author of the code that runs now, and of everything that it waits for. An edit is made deep below the request
 * that asks for it, by code that has no use for its author; so it is not handed down.
 */
const authors = new AsyncLocalStorage<Author>()

export function asAuthor<T>(author: Author, work: () => T): T {
  return authors.run(author, work)
}

/** What nobody asked for is done by the system. */
export function currentAuthor(): Author {
  return authors.getStore() ?? SYSTEM
}
