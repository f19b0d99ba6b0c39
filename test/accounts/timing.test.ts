/** Nobody can find out over HTTP, by the time of an answer, who has an account. */
import t from 'tap'
import { PASSWORD, servePeople } from './kit.ts'

/** A hash takes some ten milliseconds, and everything else in a sign-in takes a few. */
const COST = { n: 2 ** 14, r: 8, p: 1 }
const ROUNDS = 7
/** On a busy machine the fastest of a few is not fast yet. A difference that the server makes stays however often it is asked. */
const MOST_ROUNDS = 60
const QUARTER_HOUR_MS = 15 * 60_000

t.test('over HTTP, whoever may not sign in is refused in the same time', async (t) => {
  const { person, browser, registry, clock } = await servePeople(t, { cost: COST })
  const { accounts } = registry.people
  await person('known@example.com', 'admin')
  const { account } = await person('disabled@example.com', 'read')
  accounts.change(account, { disabled: true })
  accounts.create(1, 'invited@example.com', 'Invited', 'read')
  const fastest: Record<string, number> = {}
  const isAsKnown = (took: number) => took > fastest['known']! / 2 && took < fastest['known']! * 2
  for (let i = 0; i < ROUNDS || (i < MOST_ROUNDS && !Object.values(fastest).every(isAsKnown)); i++) {
    for (const [who, password] of [
      ['known', 'a wrong password'],
      ['disabled', PASSWORD],
      ['invited', PASSWORD],
      ['unknown', PASSWORD],
    ] as const) {
      const begun = performance.now()
      const { status } = await browser().call('POST', '/v1/sessions', {
        email: `${who}@example.com`,
        password,
      })
      t.equal(status, 401, who)
      fastest[who] = Math.min(fastest[who] ?? Infinity, performance.now() - begun)
    }
    // Failures are forgotten.
    clock.advance(QUARTER_HOUR_MS)
  }
  const { known, ...others } = fastest
  for (const [who, took] of Object.entries(others))
    t.ok(isAsKnown(took), `${who} takes ${took} ms, and a wrong password ${known} ms`)
})
