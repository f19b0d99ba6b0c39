import t from 'tap'
import { VisibleHosts } from '../../src/cluster/ownership/visibleHosts.ts'

const TTL_MS = 3_000
const RENEW_MS = 1_000
const MEMBER = { leaving: false }

function namesOf(hosts: VisibleHosts): string[] {
  return hosts.alive().map(([host]) => host)
}

t.test('a silent host is gone after the TTL, and not before', async (t) => {
  const hosts = new VisibleHosts('a', TTL_MS, RENEW_MS)
  hosts.saw('a', MEMBER, 0)
  hosts.saw('b', MEMBER, 0)
  for (const now of [1_000, 2_000, 2_999]) {
    hosts.saw('a', MEMBER, now)
    t.strictSame(namesOf(hosts), ['a', 'b'])
  }
  hosts.saw('a', MEMBER, 4_000)
  t.strictSame(namesOf(hosts), ['a'])
})

t.test('a host that was late itself does not take the others for gone', async (t) => {
  const hosts = new VisibleHosts('a', TTL_MS, RENEW_MS)
  hosts.saw('a', MEMBER, 0)
  hosts.saw('b', MEMBER, 0)
  // Starved or suspended for much longer than the TTL: what the others have stored in the meantime is not read yet.
  t.strictSame(namesOf(hosts), ['a', 'b'])
  hosts.saw('a', MEMBER, 20_000)
  t.strictSame(namesOf(hosts), ['a', 'b'])
  hosts.saw('b', MEMBER, 20_001)
  hosts.saw('a', MEMBER, 35_000)
  t.strictSame(namesOf(hosts), ['a', 'b'])
})

t.test('a host that is always late still notices a death', async (t) => {
  const hosts = new VisibleHosts('a', TTL_MS, RENEW_MS)
  hosts.saw('b', MEMBER, 0)
  for (let now = 0; now <= 16_000; now += 4_000) hosts.saw('a', MEMBER, now)
  t.strictSame(namesOf(hosts), ['a'])
})

t.test('a host that reads nothing takes nobody for gone', async (t) => {
  const hosts = new VisibleHosts('a', TTL_MS, RENEW_MS)
  hosts.saw('a', MEMBER, 0)
  hosts.saw('b', { leaving: true }, 0)
  t.strictSame(
    hosts.alive().map(([host, { leaving }]) => [host, leaving]),
    [
      ['a', false],
      ['b', true],
    ],
  )
  hosts.left('b')
  t.strictSame(namesOf(hosts), ['a'])
})
