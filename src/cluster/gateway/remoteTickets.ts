import type { TicketHolder, TicketParts, Tickets } from '../../accounts/tickets.ts'
import type { Calls, Served } from '../nats/calls.ts'
import { ticketsSubject } from '../nats/subjects.ts'

/** If a ticket's process does not answer in this time, the ticket is refused, and its owner gets another one. */
const ANSWER_MS = 3000

/** Lets other gateways take the tickets of this one. */
export function serveTickets(tickets: Tickets, calls: Calls, gateway: string): Served {
  return calls.serve(ticketsSubject(gateway), (bytes, answer) => {
    const holder = tickets.take(Buffer.from(bytes).toString())
    answer(Buffer.from(JSON.stringify((holder as TicketHolder | undefined) ?? null)))
  })
}

/** Takes tickets of other gateways. */
export function ticketsThrough(calls: Calls): NonNullable<TicketParts['ask']> {
  return async (gateway, ticket) => {
    // The name becomes a part of a subject.
    if (!/^[0-9a-f]{16}$/.test(gateway)) return undefined
    try {
      const bytes = await calls.ask(ticketsSubject(gateway), Buffer.from(ticket), ANSWER_MS)
      return (JSON.parse(Buffer.from(bytes).toString()) as TicketHolder | null) ?? undefined
    } catch {
      return undefined
    }
  }
}
