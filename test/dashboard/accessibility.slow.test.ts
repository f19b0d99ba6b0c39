/** Every page by the rules of axe (WCAG 2.2 AA), in both themes and on a narrow screen, and what opens above pages. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { EVERY_PAGE_ENV, everyPage, filesOfPages, questionsOfExplore } from './everyPage.ts'
import { openBrowser, openPage, settled, startWithDashboard } from './kit.ts'
import { invite } from './people.ts'

/** Evaluated, because the policy of the pages refuses a script of elsewhere. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** The page of those who have not signed in. */
const SIGN_IN = 'sign-in/signInPage.tsx'
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

const VIEWS = [
  { width: 1280, dark: false },
  { width: 1280, dark: true },
  { width: 390, dark: false },
]

/** What opens above a page, by the page and the button. */
const DIALOGS = [
  ['/test/users', 'The call behind this view'],
  ['/test/geofences', 'Import'],
  ['/test/geofences', 'Change all that match'],
  ['/test/trips', 'New trip'],
  ['/test/webhooks', 'New webhook'],
  ['/keys', 'Replace'],
  ['/members', 'Invite'],
  ['/system', 'Import a region'],
] as const

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

t.test('accessibility', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t, { env: EVERY_PAGE_ENV })
  const browser = await openBrowser(t)
  const pages = await everyPage(server)
  // With a key, the audit and the members are a sentence.
  const ann = await invite(server, 'ann@example.com', 'admin')
  await invite(server, 'bob@example.com', 'read')
  const { page, complaints } = await openPage(t, browser, server)
  const rules = async (name: string) => {
    const violations = (await page.evaluate(
      `axe.run(document, { runOnly: ${JSON.stringify(TAGS)} }).then(({ violations }) => violations)`,
    )) as Violation[]
    t.strictSame(
      violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`),
      [],
      name,
    )
  }
  /** A page is loaded once, and follows the theme of the system and the size of its window. */
  const check = async (name: string) => {
    await page.evaluate(AXE)
    for (const { width, dark } of VIEWS) {
      await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
      await page.setViewportSize({ width, height: 800 })
      await settled(page)
      await rules(`${name}, ${width} px, ${dark ? 'dark' : 'light'}`)
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      t.ok(Number(overflow) <= 0, `${name} fits into ${width} px`)
    }
  }

  await t.test('no page is left out', (t) => {
    const checked = [...pages.map(({ file }) => file), SIGN_IN]
    t.strictSame([...new Set(checked)].toSorted(), filesOfPages())
    t.ok(questionsOfExplore().length >= 7, questionsOfExplore().join())
    t.end()
  })

  await page.goto('/sign-in')
  await page.getByLabel('E-mail').waitFor()
  await check('sign-in with a password')
  await page.getByRole('button', { name: 'Secret key' }).click()
  await page.getByLabel('Secret key', { exact: true }).waitFor()
  await check('sign-in with a key')
  await page.goto('/welcome#invitation=a-token')
  await page.reload()
  await page.getByLabel('Your name').waitFor()
  await check('an invitation')
  await ann.signIn(page, '/test/users')
  for (const { path, title } of pages) {
    await page.goto(path)
    await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor({ state: 'attached' })
    await settled(page)
    if (path === '/test/geofences/new') await page.getByText('Opening hours').click()
    await check(path)
  }
  for (const [path, button] of DIALOGS) {
    await page.goto(path)
    await page.getByRole('button', { name: button }).first().click()
    await page.getByRole('dialog').waitFor()
    await settled(page)
    await page.evaluate(AXE)
    await rules(`${path}: ${button}`)
  }
  t.strictSame(complaints, [])
})
