/** The dashboard tried as a new user would: once with the mouse alone, once with the keyboard alone. */
import t from 'tap'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { KeyboardHand, MouseHand } from './hand.ts'
import { openBrowser, openPage, startWithDashboard } from './kit.ts'
import { invitationOf } from './people.ts'
import { tryAll } from './trial.ts'

t.test('the trial', { skip: skipWithoutChromium() }, async (t) => {
  const browser = await openBrowser(t)
  for (const [name, Hand] of Object.entries({ mouse: MouseHand, keyboard: KeyboardHand }))
    await t.test(`with the ${name} alone`, async (t) => {
      // Each has its own: where one hand fails, its city still drives.
      const server = await startWithDashboard(t, {
        env: { RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8' },
      })
      const [mine, theirs] = [await openPage(t, browser, server), await openPage(t, browser, server)]
      const token = invitationOf(server, `ann-by-${name}@example.com`, 'admin')
      await tryAll({
        server,
        hand: new Hand(mine.page),
        invitation: `${server.url}/sign-in#invitation=${token}`,
        other: async () => new Hand(theirs.page),
      })
      t.strictSame([...mine.complaints, ...theirs.complaints], [])
    })
})
