import { LATER, type Answer, type Route } from '../../http/route.ts'
import type { Credentials } from '../../http/credentials.ts'
import { isLive, projectOf } from '../../model/scope.ts'
import { ApiError } from '../../runtime/errors.ts'
import { asAuthor, type Author } from '../store/author.ts'
import type { Audit } from './audit.ts'

/**
 * Makes the caller the author of what the routes change. What changes nothing in the registry is entered by its route:
 * each call of a person, and deletions and settings by programs. Updates, trips and conversions of programs are data,
 * and are not entered.
 */
export function auditedRoutes(routes: readonly Route[], audit: Audit): Route[] {
  return routes.map((route) => (route.method === 'GET' ? route : audited(route, audit)))
}

function audited(route: Route, audit: Audit): Route {
  return {
    ...route,
    handler(call, reply) {
      const { credentials, ip, requestId } = call
      const author = { ...authorOf(credentials), ip, requestId }
      const note = () =>
        audit.edits.note({
          project: projectOf(credentials!.scope),
          live: isLive(credentials!.scope),
          action: `${route.method} ${route.path}`,
          target: Object.values((call.params ?? {}) as Record<string, string>).join('/'),
        })
      const doIt = () => asAuthor(author, () => route.handler(call, reply))
      if (route.isEnteredFirst === true) return enterFirst(author, note, doIt)
      const answer = doIt()
      if (answer === LATER || credentials === undefined || !isEntered(route, credentials)) return answer
      return enter(answer, author, note)
    },
  }

  /**
   * Enters a deletion before it is done. If the process ends in between, there is an entry without its deletion, but
   * no deletion without its entry.
   */
  async function enterFirst(
    author: Author,
    note: () => string,
    doIt: () => Answer | Promise<Answer> | typeof LATER,
  ): Promise<Answer> {
    const key = await asAuthor(author, () => audit.edits.edit(note))
    try {
      return (await doIt()) as Answer
    } catch (error) {
      // An entry stays unless it is certain that nothing was done.
      if (error instanceof ApiError && error.code < 500)
        await audit.edits.edit(() => audit.edits.takeBack(key))
      throw error
    }
  }

  async function enter(
    answered: Answer | Promise<Answer>,
    author: Author,
    note: () => string,
  ): Promise<Answer> {
    const answer = await answered
    const isDone = (answer.status ?? 200) < 300
    if (isDone && author.hasEntered !== true) await asAuthor(author, () => audit.edits.edit(note))
    return answer
  }
}

/** Whether a call is entered. A call that only reads, with the role `read`, never is. */
function isEntered({ method, role, auth }: Route, { session }: Credentials): boolean {
  if (role === 'read' || auth === 'none') return false
  if (session !== undefined) return auth !== 'session'
  return auth === 'secret' && (method === 'DELETE' || (role ?? 'admin') === 'admin')
}

function authorOf(credentials: Credentials | undefined): Pick<Author, 'kind' | 'id' | 'label'> {
  if (credentials === undefined) return { kind: 'session', id: '', label: '' }
  const { keyId, session } = credentials
  const label = keyId.slice(keyId.lastIndexOf(':') + 1)
  if (session === undefined) return { kind: 'key', id: keyId, label }
  const { account, id } = session
  return { kind: 'session', id: account?.id ?? id, label: account?.email ?? label }
}
