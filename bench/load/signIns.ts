/** Tracking beside people who sign in with passwords, 1,000 a minute. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../figures.ts'
import { progress } from '../progress.ts'
import { realTimeCommand, type Generator } from './load.ts'
import type { ServerProcess } from './servers.ts'
import type { Workload } from './workload.ts'

const SIGN_INS_A_MINUTE = 1000
const EMAIL = 'ann@example.com'
const PASSWORD = 'a long password for a bench'

/** Sign-ins in a window. */
interface Attempts {
  readonly answered: number
  readonly refused: number
}

/** Latency of tracks in milliseconds: medians of the windows. */
interface Latency {
  readonly p99: number
  /** How late requests left the generator, with the wait for a free connection; a part of the latency. */
  readonly sendP99: number
}

export interface SignInResult extends Attempts {
  readonly alone: Latency
  readonly beside: Latency
  /** Whether the generator goes before everything else on its processor. If not, its own delays are in the figure. */
  readonly generatorIsFirst: boolean
}

/**
 * Measures in windows that take turns, and takes their medians. Tracks come from devices elsewhere, so the generator
 * does not wait for the threads that hash passwords, where the system allows it.
 */
export async function signedInBeside(parts: {
  readonly server: ServerProcess
  /** The data folder of the server. */
  readonly data: string
  readonly generator: Generator
  readonly workload: Workload
  readonly rate: number
  readonly seconds: number
  readonly windows: number
  readonly devices: number
}): Promise<SignInResult> {
  const { server, generator, workload, rate, seconds, windows, devices } = parts
  const url = `http://127.0.0.1:${server.port}`
  await makeAccount(url, parts.data)
  let offset = 0
  const track = async (count: number, perSecond: number): Promise<Latency> => {
    const result = await generator.run({
      port: server.port,
      connections: 64,
      requests: workload.trackBodies,
      head: workload.trackHead,
      group: workload.devices,
      offset,
      count,
      rate: perSecond,
      maxLagMs: 5000,
      isFirst: true,
    })
    offset += result.sent
    if (result.ok !== count) throw new Error(`updates were refused: ${JSON.stringify(result)}`)
    return { p99: result.latencyMs.p99, sendP99: result.sendDelayMs.p99 }
  }
  await track(devices, 0)
  const alone: Latency[] = []
  const beside: Latency[] = []
  const counts: Attempts[] = []
  for (let i = 1; i <= windows; i++) {
    progress(`signing in: window ${i} of ${windows}`)
    alone.push(await track(rate * seconds, rate))
    const stop = new AbortController()
    const signing = signInAgainAndAgain(url, stop.signal)
    beside.push(await track(rate * seconds, rate))
    stop.abort()
    counts.push(await signing)
  }
  return {
    alone: medianOf(alone),
    beside: medianOf(beside),
    generatorIsFirst: (await realTimeCommand()).length > 0,
    answered: median(counts.map((count) => count.answered)),
    refused: median(counts.map((count) => count.refused)),
  }
}

function medianOf(windows: readonly Latency[]): Latency {
  return {
    p99: median(windows.map(({ p99 }) => p99)),
    sendP99: median(windows.map(({ sendP99 }) => sendP99)),
  }
}

/** Makes the account of the first admin by the link that the command prints. */
async function makeAccount(url: string, data: string): Promise<void> {
  const command = [join(import.meta.dirname, '../../src/main.ts'), 'accounts', 'add', EMAIL, '--data', data]
  const output = execFileSync(process.execPath, command, { encoding: 'utf8' })
  const token = /#invitation=([^\s&]+)/.exec(output)?.[1]
  if (token === undefined) throw new Error(`no invitation: ${output}`)
  const accepted = await fetch(`${url}/v1/invitations/${token}`, {
    method: 'POST',
    headers: headersOf(url),
    body: JSON.stringify({ password: PASSWORD, name: 'Ann' }),
  })
  if (accepted.status !== 200) throw new Error(`the invitation was answered ${accepted.status}`)
}

function headersOf(url: string): Record<string, string> {
  return { origin: url, 'content-type': 'application/json', 'x-ringfence-environment': 'test' }
}

/**
 * Signs in at a constant rate, whatever the answers take.
 * @returns how many were answered
 */
async function signInAgainAndAgain(url: string, stopped: AbortSignal): Promise<Attempts> {
  let [answered, refused] = [0, 0]
  const waiting: Promise<void>[] = []
  const signIn = async (): Promise<void> => {
    const answer = await fetch(`${url}/v1/sessions`, {
      method: 'POST',
      headers: headersOf(url),
      body: JSON.stringify({ email: EMAIL, password: PASSWORD }),
    })
    await answer.arrayBuffer()
    // A sign-in is refused if too many are in progress for its address or being hashed; that is a part of what is
    // measured.
    if (answer.status === 200) answered++
    else if (answer.status === 429 || answer.status === 503) refused++
    else throw new Error(`a sign-in was answered ${answer.status}`)
  }
  while (!stopped.aborted) {
    waiting.push(signIn())
    await sleep(60_000 / SIGN_INS_A_MINUTE)
  }
  await Promise.all(waiting)
  return { answered, refused }
}
