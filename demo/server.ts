import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../test/kit/freePort.ts'

/** The server that the demo drives. */
export interface DemoServer {
  readonly url: string
  readonly key: string
  /** Whether the demo started it, with a data folder that is removed at the end. */
  readonly temporary: boolean
  stop(): Promise<void>
}

/** A message about what the user must change, shown without a stack trace. */
export class UsageError extends Error {
  override name = 'UsageError'
}

const START_TIMEOUT_MS = 30_000
/** A server or a machine may be busy. */
const ANSWER_TIMEOUT_MS = 30_000

/**
 * The server at the URL, or one that the demo starts if nothing listens there.
 * @param key secret test key; by default the third of RINGFENCE_KEYS
 * @throws UsageError if something listens there and does not answer for 30 s, if the URL is none, without a secret test key,
 * or if a key is given and nothing listens there
 */
export async function connectOrStart(url: string, key: string | undefined): Promise<DemoServer> {
  const base = url.replace(/(?<!\/)\/+$/, '')
  if (!URL.canParse(base)) throw new UsageError(`--url ${url}: not a URL`)
  if (!(await answers(base))) {
    if (key !== undefined)
      throw new UsageError(
        `No server responds at ${base}, and a key was given. Name the server of the key with --url; ` +
          'without --key, the demo starts its own server.',
      )
    console.log(`No server responds at ${base}: starting one for this demo.`)
    return startTemporary()
  }
  const known = key ?? process.env['RINGFENCE_KEYS']?.split(',')[2]?.trim()
  if (!known) {
    throw new UsageError(
      `The server at ${base} needs a key. Pass its secret test key: --key prj_test_sk_… ` +
        '(it was printed when the server first started), or the four keys in RINGFENCE_KEYS.',
    )
  }
  // Prevents refused calls, and simulated devices in the live environment.
  if (!known.startsWith('prj_test_sk_'))
    throw new UsageError('--key: a secret test key begins with prj_test_sk_')
  return { url: base, key: known, temporary: false, stop: async () => {} }
}

async function startTemporary(): Promise<DemoServer> {
  const port = await freePort()
  const data = mkdtempSync(join(tmpdir(), 'ringfence-demo-'))
  const key = (kind: string) => `prj_${kind}_${randomBytes(20).toString('hex')}`
  const secret = key('test_sk')
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', 'src', 'main.ts')], {
    env: {
      ...process.env,
      RINGFENCE_PORT: String(port),
      RINGFENCE_HOST: '127.0.0.1',
      RINGFENCE_DATA: data,
      // The demo needs no roads.
      RINGFENCE_SAMPLE_REGION: 'off',
      RINGFENCE_KEYS: [key('test_pk'), key('live_pk'), secret, key('live_sk')].join(','),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A Ctrl-C in the terminal goes to the demo, which stops the server when it has finished with it.
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4000)
    })
  }
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
  })
  const cleanUp = () => {
    child.kill('SIGKILL')
    rmSync(data, { recursive: true, force: true })
  }
  process.once('exit', cleanUp)
  const url = `http://127.0.0.1:${port}`
  const deadline = Date.now() + START_TIMEOUT_MS
  while (!(await answers(`${url}/readyz`))) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      throw new Error(`The server did not start:\n${output}`)
    }
    await sleep(50)
  }
  console.log(
    `It listens at ${url}, its data is in ${data}. Both are removed when the demo ends by itself or by Ctrl-C.`,
  )
  return {
    url,
    key: secret,
    temporary: true,
    async stop() {
      child.kill('SIGTERM')
      await exited
      process.off('exit', cleanUp)
      rmSync(data, { recursive: true, force: true })
    },
  }
}

/**
 * Whether an HTTP server answers there.
 * @throws UsageError if something listens there that does not answer for 30 s
 */
async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(url, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) })).arrayBuffer()
    return true
  } catch (error) {
    if ((error as Error).name !== 'TimeoutError') return false
    throw new UsageError(`The server at ${url} has not answered for ${ANSWER_TIMEOUT_MS / 1000} s.`)
  }
}
