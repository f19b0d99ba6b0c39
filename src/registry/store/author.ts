import { AsyncLocalStorage } from 'node:async_hooks'

/** Who makes an edit. */
export interface Author {
  readonly kind: 'session' | 'key' | 'command' | 'system'
  readonly id: string
  /** The author's name for people: an e-mail address, or the last four characters of a key. */
  readonly label: string
  readonly ip?: string
  readonly requestId?: string
  /** Whether an edit of this author was entered in the audit. */
  hasEntered?: boolean
}

const SYSTEM: Author = { kind: 'system', id: '', label: 'system' }

/**
 * The author of the running code, and of everything that it waits for. An edit is made far below the request that asks
 * for it, by code that does not need its author, so the author is not passed as an argument.
 */
const authors = new AsyncLocalStorage<Author>()

export function asAuthor<T>(author: Author, work: () => T): T {
  return authors.run(author, work)
}

/** The current author. Edits that nobody asked for are made by the system. */
export function currentAuthor(): Author {
  return authors.getStore() ?? SYSTEM
}
