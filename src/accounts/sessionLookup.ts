import type { SessionLookup } from '../http/authenticate.ts'
import type { Credentials } from '../http/credentials.ts'
import type { Sessions } from '../registry/people/sessions.ts'
import type { TicketHolder, Tickets } from './tickets.ts'

/** How requests and streams find the person who makes them. */
export function sessionLookup(sessions: Sessions, tickets: Tickets): SessionLookup {
  const callerOf = (holder: TicketHolder | undefined): Credentials | undefined =>
    holder && sessions.ofId(holder.session, holder.live)
  return {
    find: (token, live) => sessions.find(token, live),
    takeTicket(ticket) {
      const found = tickets.take(ticket)
      return found instanceof Promise ? found.then(callerOf) : callerOf(found)
    },
  }
}
