/** A real browser for tests: Debian's chromium or Google Chrome, from the PATH. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Test } from 'tap'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

/** It calls nobody but the page's servers, and keeps nothing. */
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/**
 * False where there is a browser; else the reason why tests that need it are skipped, which is printed.
 * @throws Error instead, where RINGFENCE_REQUIRE_SERVERS is 1
 */
export function skipWithoutChromium(): string | false {
  if (chromiumPath() !== undefined) return false
  const reason = `none of ${NAMES.join(', ')} is on the PATH`
  if (process.env.RINGFENCE_REQUIRE_SERVERS === '1') throw new Error(reason)
  console.error(`SKIPPED: ${reason}`)
  return reason
}

/** Opens a page in a browser of its own, which the test's end kills; if the test failed, what it wrote is printed. */
export function openPage(t: Test, url: string): void {
  const profile = mkdtempSync(join(tmpdir(), 'ringfence-chromium-'))
  // A group of its own: the browser's many processes end together.
  const browser = spawn(chromiumPath()!, [...FLAGS, `--user-data-dir=${profile}`, url], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  for (const stream of [browser.stdout, browser.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const kill = () => {
    try {
      process.kill(-browser.pid!, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
  process.once('exit', kill)
  t.teardown(async () => {
    process.off('exit', kill)
    const closed = once(browser, 'close')
    kill()
    await closed
    rmSync(profile, { recursive: true, force: true, maxRetries: 3 })
    if (!t.passing()) console.error(`output of the browser:\n${output}`)
  })
}

function chromiumPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
