/** A real browser for tests: Debian's chromium or Google Chrome, from the PATH. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

/** The browser contacts only the servers of the page, and stores nothing. */
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
 * False if there is a browser. Otherwise the reason why tests that need one are skipped; it is printed.
 * @throws Error instead, if RINGFENCE_REQUIRE_SERVERS is 1
 */
export function skipWithoutChromium(): string | false {
  if (chromiumPath() !== undefined) return false
  const reason = `none of ${NAMES.join(', ')} is on the PATH`
  if (process.env.RINGFENCE_REQUIRE_SERVERS === '1') throw new Error(reason)
  console.error(`SKIPPED: ${reason}`)
  return reason
}

/** A page that a test inspects and operates. */
export interface DrivenPage {
  /**
   * Evaluates an expression in the page and resolves with its value, which is awaited and must be JSON.
   * @throws Error if the expression throws
   */
  run(expression: string): Promise<unknown>
  /** Resolves once the expression is true. */
  until(expression: string): Promise<void>
  /** A command of the browser's protocol (https://chromedevtools.github.io/devtools-protocol). */
  send(method: string, params?: object): Promise<unknown>
  /**
   * What the page has thrown so far and what the browser has refused it, for example because of its security policy.
   */
  readonly complaints: readonly string[]
}

/** Flags for pages that draw with WebGL, which the processor then does. */
export const WEBGL_FLAGS = ['--enable-unsafe-swiftshader', '--use-angle=swiftshader']

/** Opens a page like {@link openPage}. Resolves with it once its scripts have run. */
export async function drivePage(t: Test, url: string, flags: readonly string[] = []): Promise<DrivenPage> {
  const { stderr } = openPage(t, 'about:blank', ['--remote-debugging-port=0', ...flags])
  const browser = await new Promise<string>((resolve) => {
    let text = ''
    stderr.on('data', (more: string) => {
      const [, address] = /DevTools listening on (ws:\S+)\s/.exec((text += more)) ?? []
      if (address !== undefined) resolve(address)
    })
  })
  const targets = (await (await fetch(`http://${new URL(browser).host}/json/list`)).json()) as Target[]
  const socket = new WebSocket(targets.find(({ type }) => type === 'page')!.webSocketDebuggerUrl)
  await once(socket, 'open')
  t.teardown(() => socket.close())
  const waiting = new Map<number, (reply: Reply) => void>()
  const complaints: string[] = []
  socket.addEventListener('message', ({ data }) => {
    const { id, method, ...reply } = JSON.parse(data as string) as { id?: number; method?: string } & Reply
    if (id !== undefined) waiting.get(id)!(reply)
    else if (method === 'Runtime.exceptionThrown' || method === 'Log.entryAdded') {
      const text = JSON.stringify(reply)
      // Slow drawing without a graphics card is not a fault of the page.
      if (!text.includes('"source":"rendering"')) complaints.push(text)
    }
  })
  let lastId = 0
  const send = async (method: string, params: object = {}) => {
    const id = ++lastId
    const { promise, resolve } = Promise.withResolvers<Reply>()
    waiting.set(id, resolve)
    socket.send(JSON.stringify({ id, method, params }))
    const { result, error } = await promise
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result as Record<string, unknown>
  }
  const run = async (expression: string) => {
    const { result, exceptionDetails } = (await send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })) as { result: { value: unknown }; exceptionDetails?: { exception: { description: string } } }
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception.description)
    return result.value
  }
  const until = async (expression: string) => {
    // The time limit of the test ends this loop.
    while ((await run(expression)) !== true) await sleep(20)
  }
  await send('Runtime.enable')
  await send('Log.enable')
  // Without this, no element gets the focus in a browser without a window.
  await send('Emulation.setFocusEmulationEnabled', { enabled: true })
  await send('Page.navigate', { url })
  await until(`location.href === '${url}' && document.readyState === 'complete'`)
  return { run, until, send, complaints }
}

interface Target {
  readonly type: string
  readonly webSocketDebuggerUrl: string
}

interface Reply {
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

/**
 * Opens a page in a separate browser, which is killed when the test ends. If the test failed, the browser's output is
 * printed.
 */
export function openPage(t: Test, url: string, flags: readonly string[] = []): { readonly stderr: Readable } {
  const profile = mkdtempSync(join(tmpdir(), 'ringfence-chromium-'))
  // It is a process group, so that all processes of the browser end together.
  const browser = spawn(chromiumPath()!, [...FLAGS, ...flags, `--user-data-dir=${profile}`, url], {
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
      // The browser has already ended.
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
  return browser
}

export function chromiumPath(): string | undefined {
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
