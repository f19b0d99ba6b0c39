/** `npm run cluster`: see {@link HELP}. */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { lockStore } from '../src/log/store.ts'
import { closeFolder, makeFilesPrivate } from '../src/runtime/privateFiles.ts'
import { serverBinary, ServerMissing, TILE38_SERVER } from '../test/kit/goServers.ts'
import { Cluster, type ClusterOptions } from './cluster.ts'

const HELP = `Usage: npm run cluster -- [options]

Runs the distributed engine on this machine, each part in its own process, until Ctrl-C.

  --nats N       number of NATS servers, 1 or 3; default 1. Three servers keep three copies of everything.
  --gateways N   number of gateways; default 1
  --actors N     number of processes that evaluate partitions; default 2
  --port N       port of the first gateway; default 8080
  --folder PATH  folder for data, logs and keys; default: a temporary folder that is deleted at the end

nats-server is taken from the PATH, or built with the Go toolchain (npm run servers). If a tile38-server is found or can be built in the same
way, it stores the positions of devices (docs/operating.md). Gateways have no sample region: for routing, import a region into the folder
of each gateway (docs/guides/regions.md).
`

const LOOK_AGAIN_MS = 500
/** Signals that come this soon after the first one are repetitions of it. */
const ECHO_MS = 500

class UsageError extends Error {}

function options() {
  const { values } = parseArgs({
    options: {
      nats: { type: 'string', default: '1' },
      gateways: { type: 'string', default: '1' },
      actors: { type: 'string', default: '2' },
      port: { type: 'string', default: '8080' },
      folder: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const counts = { nats: 0, gateways: 0, actors: 0, port: 0 }
  for (const name of ['nats', 'gateways', 'actors', 'port'] as const) {
    counts[name] = Number(values[name])
    if (!Number.isInteger(counts[name]) || counts[name] < 1)
      throw new UsageError(`--${name}: a whole number above 0`)
  }
  if (counts.nats !== 1 && counts.nats !== 3) throw new UsageError('--nats: 1 or 3')
  return { ...counts, folder: values.folder, help: values.help }
}

async function main(): Promise<void> {
  const { folder: kept, help, ...counts } = options()
  if (help) {
    console.log(HELP)
    return
  }
  await checkPort(counts.port)
  makeFilesPrivate()
  const folder = kept === undefined ? mkdtempSync(join(tmpdir(), 'ringfence-cluster-')) : resolve(kept)
  mkdirSync(folder, { recursive: true })
  // An earlier start may have left open folders, because the servers create files with whatever umask they find.
  closeFolder(folder)
  // Two clusters that write the same files would damage them: NATS servers do not lock theirs.
  process.once('exit', lockStore(folder))
  if (kept === undefined) process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const interrupted = interruption()
  console.log(`Starting in ${folder} …`)
  const keys = keysIn(folder)
  const tile38 = await tile38Server()
  const ended = new AbortController()
  void interrupted.then(() => ended.abort())
  const cluster = await Cluster.start({
    folder,
    ...counts,
    deliveries: 1,
    signal: ended.signal,
    waits: (sentence) => console.log(`  ${sentence}`),
    ...(tile38 !== undefined && { tile38 }),
    env: { RINGFENCE_KEYS: keys.join(','), RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8' },
  }).catch((error: unknown) => {
    if (ended.signal.aborted) return undefined
    throw error
  })
  if (cluster === undefined) return
  show(cluster, keys)
  const watch = setInterval(() => tellEnded(cluster), LOOK_AGAIN_MS)
  await interrupted
  clearInterval(watch)
  console.log('\nStopping …')
  const failed = await cluster.stop()
  console.log(failed.length === 0 ? 'Stopped.' : `Failed to stop: ${failed.join(', ')}.`)
  if (failed.length > 0) process.exitCode = 1
}

/**
 * Makes sure that the port is free.
 * @throws {UsageError} if the gateway could not listen there: another server would answer in its place
 */
async function checkPort(port: number): Promise<void> {
  const probe = createServer()
  const code = await new Promise<string>((done) => {
    probe.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message))
    probe.listen(port, '127.0.0.1', () => probe.close(() => done('')))
  })
  if (code === '') return
  const why = code === 'EADDRINUSE' ? 'another program uses this port' : `the port cannot be used (${code})`
  throw new UsageError(`--port ${port}: ${why}. Choose another one.`)
}

/** The command of the Tile38 server on this machine, if there is one. */
async function tile38Server(): Promise<ClusterOptions['tile38']> {
  try {
    const command = await serverBinary(TILE38_SERVER)
    return (port, data) => ({
      command,
      args: ['-h', '127.0.0.1', '-p', String(port), '-d', data, '--appendonly', 'no'],
    })
  } catch (error) {
    if (!(error instanceof ServerMissing)) throw error
    console.log(`Without Tile38: ${error.message}`)
    return undefined
  }
}

/** Resolves when a signal asks the cluster to end. A second one ends it at once. */
function interruption(): Promise<undefined> {
  return new Promise((end) => {
    let askedAt: number | undefined
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        askedAt ??= performance.now()
        end(undefined)
        // Ctrl-C also reaches npm, which passes it on.
        if (performance.now() - askedAt > ECHO_MS) process.exit(130)
      })
    }
  })
}

const told = new Set<number>()

/** Reports the end of each process once. */
function tellEnded(cluster: Cluster): void {
  for (const { isRunning, pid, options: member } of cluster.members) {
    if (isRunning || told.has(pid)) continue
    told.add(pid)
    console.log(`${member.name} (pid ${pid}) has ended.`)
  }
}

/** The four keys of the first project, taken from an earlier start if there was one. */
function keysIn(folder: string): string[] {
  const file = join(folder, 'keys.json')
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as string[]
  const keys = ['test_pk', 'live_pk', 'test_sk', 'live_sk'].map(
    (kind) => `prj_${kind}_${randomBytes(20).toString('hex')}`,
  )
  writeFileSync(file, JSON.stringify(keys), { mode: 0o600 })
  return keys
}

function show(cluster: Cluster, keys: readonly string[]): void {
  for (const { options: member, pid } of cluster.members)
    console.log(
      `  ${member.name.padEnd(12)}${member.url.padEnd(28)}pid ${String(pid).padEnd(9)}${member.logFile}`,
    )
  const url = cluster.gateways[0]!.options.url
  const [publishable, , secret] = keys
  console.log(`
Keys of the test environment:
  publishable   ${publishable}
  secret        ${secret}

Draw a geofence, and send a location in it:

  curl -X PUT ${url}/v1/geofences/store/1 -H "Authorization: ${secret}" \\
    -d type=circle -d "coordinates=[13.405,52.52]" -d radius=100 -d description=Store
  curl ${url}/v1/track -H "Authorization: ${publishable}" \\
    -d deviceId=visitor-1 -d latitude=52.52 -d longitude=13.405 -d accuracy=20

You can end one with "kill -9 PID" and watch the others. Ctrl-C stops all.`)
}

try {
  await main()
} catch (error) {
  const isUsage =
    error instanceof UsageError || (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS')
  console.error((error as Error).message)
  if (isUsage) console.error('`npm run cluster -- --help` shows the options.')
  process.exitCode = 1
}
