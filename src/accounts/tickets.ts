import { randomBytes } from 'node:crypto'
import type { Credentials } from '../http/credentials.ts'
import { isLive } from '../model/scope.ts'
import type { Clock } from '../runtime/clock.ts'

const TICKET_BYTES = 24
const TICKET_MS = 30_000
/** How many unused tickets a session may have. If there are more, the oldest one ends. */
const MOST_TICKETS = 32

/** What a ticket stands for. */
export interface TicketHolder {
  /** The `_id` of the session. */
  readonly session: string
  readonly live: boolean
}

export interface TicketParts {
  /** Identifies this process among those that share the sessions. It consists of letters and digits. */
  readonly process: string
  readonly clock: Clock
  /** Takes a ticket that another process has given out. It is absent if there is no other process. */
  readonly ask?: (process: string, ticket: string) => Promise<TicketHolder | undefined>
}

/**
 * Tickets open one stream each for somebody who has signed in, because a page cannot send headers with a WebSocket,
 * and cookies are not read there.
 *
 * A ticket is in the memory of the process that gave it out, and begins with the name of that process. So it is used
 * at most once, although any process may receive it.
 */
export class Tickets {
  readonly #parts: TicketParts
  /** Tickets in the order in which they were given out. */
  readonly #holders = new Map<string, TicketHolder & { readonly endsAt: number }>()
  /** Tickets by session, in the same order. */
  readonly #bySession = new Map<string, Set<string>>()

  constructor(parts: TicketParts) {
    this.#parts = parts
  }

  /** Gives out a ticket. It ends at the returned time, in epoch milliseconds. */
  issue({ session, scope }: Credentials): { readonly ticket: string; readonly expiresAt: number } {
    const now = this.#parts.clock.now()
    this.#forget(now)
    const { id } = session!
    const ticket = `${this.#parts.process}.${randomBytes(TICKET_BYTES).toString('base64url')}`
    const endsAt = now + TICKET_MS
    this.#holders.set(ticket, { session: id, live: isLive(scope), endsAt })
    const tickets = this.#bySession.get(id)
    if (tickets === undefined) this.#bySession.set(id, new Set([ticket]))
    else {
      tickets.add(ticket)
      if (tickets.size > MOST_TICKETS) this.#remove(tickets.values().next().value!)
    }
    return { ticket, expiresAt: endsAt }
  }

  /** Uses up a ticket. Returns undefined for a ticket that is unknown, used or too old. */
  take(ticket: string): TicketHolder | undefined | Promise<TicketHolder | undefined> {
    const process = ticket.slice(0, Math.max(0, ticket.indexOf('.')))
    if (process !== this.#parts.process) return this.#parts.ask?.(process, ticket)
    const holder = this.#remove(ticket)
    if (holder === undefined || this.#parts.clock.now() >= holder.endsAt) return undefined
    return { session: holder.session, live: holder.live }
  }

  #forget(now: number): void {
    for (const [ticket, { endsAt }] of this.#holders) {
      if (now < endsAt) break
      this.#remove(ticket)
    }
  }

  #remove(ticket: string) {
    const holder = this.#holders.get(ticket)
    if (holder === undefined) return undefined
    this.#holders.delete(ticket)
    const tickets = this.#bySession.get(holder.session)
    tickets?.delete(ticket)
    if (tickets?.size === 0) this.#bySession.delete(holder.session)
    return holder
  }
}
