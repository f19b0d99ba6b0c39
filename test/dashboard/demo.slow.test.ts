/** `npm run demo` says where to look at it, and there is a map full of life. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { progress, until } from '../kit/waiting.ts'
import { buildDashboard, openBrowser, openPage } from './kit.ts'

const ROOT = join(import.meta.dirname, '..', '..')

t.test('the demo prints the link of its live map', { skip: skipWithoutChromium() }, async (t) => {
  buildDashboard()
  const child = spawn(process.execPath, ['demo/run.ts', '--url', 'http://127.0.0.1:9', '--devices', '60'], {
    cwd: ROOT,
    env: { ...process.env, RINGFENCE_KEYS: '', RINGFENCE_DASHBOARD: 'on' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      progress()
    })
  const browser = await openBrowser(t)
  const told = /See it on a map: (\S+)\nSign in there with this key: (\S+)\n/
  await until(() => {
    if (child.exitCode !== null) throw new Error(`the demo ended:\n${output}`)
    return told.test(output)
  })
  const [, link, key] = told.exec(output)!
  const { page, complaints } = await openPage(t, browser, { url: new URL(link!).origin })
  await page.goto(link!)
  await page.getByLabel('Secret key', { exact: true }).fill(key!)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(/\/test\/map/)
  await page.getByText(/^[1-9]\d* here/).waitFor()
  const places = () => page.evaluate('[...window.ringfenceMap.fleet.toX.slice(0, 60)].join()')
  const before = await places()
  await until(async () => (await places()) !== before)
  await page
    .getByRole('button', { name: /(entered|exited) geofence/ })
    .first()
    .waitFor()
  t.strictSame(complaints, [])
  child.kill('SIGINT')
  const [code] = (await once(child, 'close')) as [number | null]
  t.equal(code, 0, output)
})
