import { signal } from '@preact/signals'
import type { AnswerOf } from '../../../sdk/src/types.ts'
import { call, CallFailure, whenForbidden, whenSignedOut } from '../api/call.ts'
import { roleOfCall } from '../api/document.ts'
import { environment, type Environment } from '../api/environment.ts'

export type SignedIn = AnswerOf<'/v1/sessions/current', 'get'>

/** The person who has signed in; null if nobody has, and undefined while it is not known yet. */
export const session = signal<SignedIn | null | undefined>(undefined)

const RANKS = { read: 0, write: 1, admin: 2 } as const

whenSignedOut(() => (session.value = null))
whenForbidden(() => void readRole())

/** Finds out who has signed in, with the cookie that the page does not see. */
export async function loadSession(): Promise<void> {
  // The address names the environment. A session with a key has only one, so the server may refuse it.
  const wanted = environment.peek()
  for (const tried of [wanted, wanted === 'test' ? 'live' : 'test'] as const) {
    environment.value = tried
    try {
      session.value = await call('get', '/v1/sessions/current')
      return
    } catch (error) {
      if (!(error instanceof CallFailure) || error.status !== 403) break
    }
  }
  session.value = null
}

/** Reads the role again, so that the page offers what it allows. */
async function readRole(): Promise<void> {
  if (!session.peek()) return
  try {
    const now = await call('get', '/v1/sessions/current')
    if (now.role !== session.peek()?.role) session.value = now
  } catch {
    // What was shown stays; the next call says what is wrong.
  }
}

/**
 * Signs in.
 * @throws CallFailure
 */
export async function signIn(
  proof: { readonly key: string } | { readonly email: string; readonly password: string },
): Promise<void> {
  opened(await call('post', '/v1/sessions', { body: proof }))
}

/**
 * Accepts an invitation.
 * @throws CallFailure
 */
export async function accept(token: string, password: string, name: string): Promise<void> {
  const body = { password, ...(name !== '' && { name }) }
  opened(await call('post', '/v1/invitations/{token}', { params: { token }, body }))
}

export async function signOut(): Promise<void> {
  await call('delete', '/v1/sessions/current').catch(() => {})
  session.value = null
}

/** Whether this person may make a call, written `POST /v1/geofences`. The server decides; this only spares the attempt. */
export function may(name: string): boolean {
  const role = session.value?.role
  return role !== undefined && RANKS[role as keyof typeof RANKS] >= RANKS[roleOfCall(name)]
}

function opened(answer: SignedIn): void {
  environment.value = (answer.environments as Environment[])[0] ?? 'test'
  session.value = answer
}
