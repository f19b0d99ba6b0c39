/** Every role on every endpoint of a real server. */
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { Browser } from './kit.ts'
import { seedPeople } from './seeded.ts'
import { walkRoles } from './walk.ts'

t.test('roles and endpoints', async (t) => {
  const data = t.testdir({})
  const people = seedPeople(data)
  const server = await startServer(t, { data })
  const byKey = new Browser(server.url)
  await byKey.call('POST', '/v1/sessions', { key: KEYS.testSecret })
  const cookieOf = ({ token }: { token: string }) => `ringfence_session=${token}`
  await walkRoles(t, server.url, {
    read: cookieOf(people.read),
    write: cookieOf(people.write),
    admin: cookieOf(people.admin),
    key: byKey.cookie,
  })
})
