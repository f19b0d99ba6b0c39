/** A data folder with accounts that have signed in, for tests that start a real server on it. */
import { openRegistry } from '../../src/registry/registry.ts'
import type { Role } from '../../src/model/role.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { KEYS } from '../kit/server.ts'
import { shareWorld } from '../kit/world.ts'

export interface SeededPerson {
  /** Of the account. */
  readonly id: string
  readonly email: string
  readonly token: string
}

/** By role, an account of the first project with a session; they have no passwords. */
export function seedPeople(folder: string): Record<Role, SeededPerson> {
  shareWorld(folder)
  const registry = openRegistry({
    folder,
    clock: systemClock,
    createIndex: createGeofenceIndex,
    firstKeys: KEYS,
  })
  const { accounts, sessions, edits } = registry.people
  const seed = (role: Role): SeededPerson => {
    const email = `${role}@example.com`
    const { account } = accounts.create(1, email, role, role)
    const { token, changes } = sessions.opening(
      1,
      { account: account.id },
      { ip: '127.0.0.1', userAgent: 'Test' },
    )
    edits.commit(changes)
    return { id: account.id, email, token }
  }
  const people = { read: seed('read'), write: seed('write'), admin: seed('admin') }
  registry.close()
  return people
}
