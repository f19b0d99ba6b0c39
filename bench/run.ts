/**
 * `npm run bench -- <name> [options]`: runs one bench as a separate process, shows its output, and stores the JSON
 * object of its last line, with the machine that it was measured on, in bench/results/<bench>.json. Its table, and its
 * measurements of the stated figures, go into bench/README.md.
 *
 * `--strict` makes a bench exit 1 if a stated figure is missed by more than a tenth. `--smoke` is a short run that
 * shows that it works and stores no result. Other options belong to the bench: see bench/README.md.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { machineInfo } from './machine.ts'
import { keptResult, statedRows } from './stated.ts'
import { showInReadme, showStated } from './table.ts'

const BENCHES: Readonly<Record<string, string>> = {
  http: 'http.ts',
  against: 'against.ts',
  soak: 'soak.ts',
  'soak-cluster': 'soakCluster.ts',
  stream: 'stream.ts',
  import: 'import.ts',
  sync: 'sync.ts',
  step: 'micro/step.ts',
  world: 'micro/world.ts',
  index: 'micro/index.ts',
  geometry: 'micro/geometry.ts',
  commit: 'micro/commit.ts',
  events: 'micro/events.ts',
  quality: 'quality.ts',
  sizes: 'sizes.ts',
  recover: 'recover.ts',
  fanout: 'fanout.ts',
  growth: 'growth.ts',
  peers: 'peers.ts',
  cluster: 'cluster.ts',
  routing: 'routing.ts',
  geocode: 'geocode.ts',
  'add-addresses': 'addAddresses.ts',
  'geocode-quality': 'geocodeQuality.ts',
  hostile: 'hostile.ts',
  maps: 'maps.ts',
  watch: 'watch.ts',
  dashboard: 'dashboard.ts',
  live: 'live.ts',
  visits: 'visits.ts',
  trips: 'trips.ts',
}

/** A bench that stores a million geofences keeps their records in memory meanwhile. */
const HEAP_MEGABYTES = 12_000

const [name, ...args] = process.argv.slice(2)
const file = name === undefined || !Object.hasOwn(BENCHES, name) ? undefined : BENCHES[name]
if (name === undefined || file === undefined) {
  const isHelp = name === '--help'
  if (name !== undefined && !isHelp) console.error(`There is no bench ${JSON.stringify(name)}.\n`)
  const usage = `Usage: npm run bench -- <${Object.keys(BENCHES).join(' | ')}> [--strict] [--smoke] [--seconds N]

bench/README.md says what each bench measures and how long it takes.`
  if (isHelp) console.log(usage)
  else console.error(usage)
  process.exit(isHelp ? 0 : 2)
}

const heap = `--max-old-space-size=${HEAP_MEGABYTES}`
const child = spawn(process.execPath, [heap, join(import.meta.dirname, file), ...args], {
  stdio: ['inherit', 'pipe', 'inherit'],
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
let output = ''
child.stdout.setEncoding('utf8').on('data', (text: string) => {
  output += text
  process.stdout.write(text)
})
child.on('close', (code) => {
  process.exitCode = code ?? 1
  const lastLine = output.trimEnd().split('\n').at(-1) ?? ''
  if (!lastLine.startsWith('{')) return
  const printed = JSON.parse(lastLine) as { bench?: string; smoke?: boolean; partial?: boolean }
  if (printed.smoke === true || args.includes('--smoke') || printed.partial === true) return
  const bench = printed.bench ?? name
  const folder = join(import.meta.dirname, 'results')
  mkdirSync(folder, { recursive: true })
  const result = { ...printed, machine: machineInfo() }
  writeFileSync(join(folder, `${bench}.json`), `${JSON.stringify(result, null, 2)}\n`)
  showInReadme(bench, result)
  showStated(statedRows(keptResult))
})
