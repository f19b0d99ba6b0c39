/**
 * What a reader of /docs tries first, on a new server and in a real browser. It must do what its title says, each
 * time the page is opened.
 */
import t from 'tap'
import { drivePage, skipWithoutChromium } from '../kit/chromium.ts'
import { startServer } from '../kit/server.ts'

/** The first operation of the page. */
const FIRST = `document.querySelector('.opblock')`
const ANSWER = `${FIRST}.querySelector('.live-responses-table tbody .response-col_status')`

t.test('the first trial causes the event in its title', { skip: skipWithoutChromium() }, async (t) => {
  // The keys of a first start, in the way in which a user gets them.
  const server = await startServer(t, { env: { RINGFENCE_KEYS: '' } })
  const [key] = /prj_test_pk_[0-9a-f]{40}/.exec(server.output)!

  // The second one takes as long again, and is only made where more is drawn.
  const visits = process.env['RINGFENCE_TEST_RUNS'] === undefined ? ['first'] : ['first', 'second']
  for (const visit of visits) {
    await t.test(`${visit} visit`, async (t) => {
      const { run, until, complaints } = await drivePage(t, `${server.url}/docs`)
      await until(`${FIRST} !== null`)
      t.equal(await run(`${FIRST}.querySelector('.opblock-summary-path').textContent`), '/v1/track')
      await run(`${FIRST}.querySelector('.opblock-summary-control').click()`)
      // The examples are shown some time after the button, when the references in the body's schema have been followed.
      const examples = `${FIRST}.querySelector('.opblock-section-request-body .examples-select-element')`
      await until(`${FIRST}.querySelector('button.execute') !== null && ${examples} !== null`)
      t.match(
        await run(`${examples}.selectedOptions[0].textContent`),
        /A new device enters the example geofence/,
      )

      if (visit === 'first') {
        await run(`${FIRST}.querySelector('button.execute').click()`)
        await until(`${ANSWER} !== null`)
        t.match(await run(`${ANSWER}.textContent`), /^401/)
        t.equal(await run(`document.getElementById('kind').textContent`), 'no key: calls will be refused')
        await run(`${FIRST}.querySelector('button.btn-clear').click()`)
        await until(`${ANSWER} === null`)
      }
      await run(`
        document.getElementById('key').value = '${key}'
        document.getElementById('key').dispatchEvent(new Event('input'))
        ${FIRST}.querySelector('button.execute').click()`)
      await until(`${ANSWER} !== null`)
      t.match(await run(`${ANSWER}.textContent`), /^200/)
      const text = await run(
        `${FIRST}.querySelector('.live-responses-table tbody .response-col_description pre').textContent`,
      )
      const { events, user } = JSON.parse(text as string)
      t.match(events, [{ type: 'user.entered_geofence', geofence: { externalId: 'liberty-island' } }])
      t.match(user.deviceId, /^docs-visitor-\w+$/)
      t.strictSame(
        complaints.filter((complaint) => !/the server responded with a status of 401/.test(complaint)),
        [],
      )
    })
  }
})
