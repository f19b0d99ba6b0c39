/** `npm run move`: see {@link HELP}. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { CallFailed, MoveCalls } from './moveCalls.ts'
import {
  beaconDefinition,
  geofenceDefinition,
  knownSettings,
  type Definition,
  type MovedFields,
} from './moveRecords.ts'

const HELP = `Usage: npm run move -- --from-radar [options]

Copies geofences, beacons and settings out of a Radar project into a running server. The Radar project is not changed.
A record replaces the one with the same tag and externalId, so the command can be repeated. If it is interrupted, the
next run continues where it stopped.

  --from URL       the interface to copy from; default https://api.radar.io
  --from-key KEY   a secret key of the project. Default: the environment variable RADAR_SECRET_KEY, which keeps the key
                   out of the history of the shell
  --url URL        the server; default http://127.0.0.1:8080
  --key KEY        a secret key of the server, whose environment gets the records. Default: RINGFENCE_SECRET_KEY
  --state FILE     where it stores its progress; default ./ringfence-move.json; removed at the end

Exit code: 0 all was copied, 1 some records were refused, 2 the command could not finish.
`

const PAGE = 1000
const AT_ONCE = 8
/** How many refused records are listed one by one. */
const MOST_REFUSALS = 1000

/** Something that the user has to change. */
class UsageError extends Error {}

interface KindState {
  /** When the record that was copied last was created, because pages are newest first. */
  createdBefore?: string
  /** The ids of that millisecond that were copied. The next page begins with it, because there may be more. */
  seen?: readonly unknown[]
  copied: number
  isDone: boolean
}

interface State {
  readonly from: string
  /** The ends of the two keys, so that a run with other projects is not continued. */
  readonly keys: string
  readonly kinds: Record<string, KindState>
  refusals: string[]
}

const KINDS = {
  geofences: { path: '/v1/geofences', definition: geofenceDefinition },
  beacons: { path: '/v1/beacons', definition: beaconDefinition },
} as const

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      'from-radar': { type: 'boolean', default: false },
      from: { type: 'string', default: 'https://api.radar.io' },
      'from-key': { type: 'string' },
      url: { type: 'string', default: 'http://127.0.0.1:8080' },
      key: { type: 'string' },
      state: { type: 'string', default: 'ringfence-move.json' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(HELP)
    return 0
  }
  if (!values['from-radar']) throw new UsageError('The source is missing: --from-radar.')
  const fromKey = secretKey(values['from-key'] ?? process.env['RADAR_SECRET_KEY'], '--from-key')
  const key = secretKey(values.key ?? process.env['RINGFENCE_SECRET_KEY'], '--key')
  const from = new MoveCalls(addressOf(values.from, '--from'), fromKey)
  const to = new MoveCalls(addressOf(values.url, '--url'), key)
  const keys = `${fromKey.slice(-4)} ${key.slice(-4)}`
  const file = values.state
  const state = readState(file, values.from, keys)
  for (const name of ['geofences', 'beacons'] as const) await copyKind(name, from, to, state, file)
  await copySettings(from, to, state)
  for (const sentence of state.refusals) console.log(sentence)
  const counts = Object.entries(state.kinds).map(([name, { copied }]) => `${copied} ${name}`)
  console.log(`Copied ${counts.join(', ')} and the settings; ${state.refusals.length} refused.`)
  rmSync(file, { force: true })
  return state.refusals.length === 0 ? 0 : 1
}

function secretKey(key: string | undefined, flag: string): string {
  if (!key) throw new UsageError(`A secret key is required: ${flag}. See --help.`)
  if (!/_sk_/.test(key)) throw new UsageError(`${flag} must be a secret key: prj_test_sk_… or prj_live_sk_….`)
  return key
}

function addressOf(text: string, flag: string): URL {
  if (!URL.canParse(text) || !/^https?:/.test(text)) throw new UsageError(`${flag} ${text}: not a URL.`)
  return new URL(text)
}

/** The state that an earlier run left, if it copied between the same projects. */
function readState(file: string, from: string, keys: string): State {
  const begun: State = { from, keys, kinds: {}, refusals: [] }
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return begun
  }
  try {
    const state = JSON.parse(text) as State
    if (state.from === from && state.keys === keys) return state
  } catch {
    // If the file cannot be read, the failure is reported below.
  }
  throw new UsageError(`${file} belongs to another move. Remove it, or name another file with --state.`)
}

/** Writes the state, as a whole or not at all. */
function writeState(file: string, state: State): void {
  writeFileSync(`${file}.tmp`, JSON.stringify(state), { mode: 0o600 })
  renameSync(`${file}.tmp`, file)
}

async function copyKind(
  name: keyof typeof KINDS,
  from: MoveCalls,
  to: MoveCalls,
  state: State,
  file: string,
): Promise<void> {
  const { path, definition } = KINDS[name]
  const kind = (state.kinds[name] ??= { copied: 0, isDone: false })
  while (!kind.isDone) {
    const query = new URLSearchParams({ limit: String(PAGE) })
    if (kind.createdBefore !== undefined) query.set('createdBefore', kind.createdBefore)
    const records = (await from.call('GET', `${path}?${query}`))[name] as readonly MovedFields[]
    const fresh = records.filter(({ _id }) => !kind.seen?.includes(_id))
    const wanted = fresh.map((record) => definition(record))
    let next = 0
    const work = async (): Promise<void> => {
      for (let one = wanted[next++]; one !== undefined; one = wanted[next++])
        if (await isCopied(to, path, one, state)) kind.copied++
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    const last = records.at(-1)?.createdAt as string | undefined
    kind.isDone = records.length < PAGE || last === undefined
    if (last !== undefined) {
      const after = new Date(Date.parse(last) + (fresh.length > 0 ? 1 : 0)).toISOString()
      kind.createdBefore = after
      kind.seen = records.filter(({ createdAt }) => createdAt === last).map(({ _id }) => _id)
    }
    writeState(file, state)
    process.stderr.write(`${name}: ${kind.copied} copied, ${state.refusals.length} refused\n`)
  }
}

/**
 * Copies one record. Returns false, with a sentence in the state, if the server refuses it.
 * @throws {CallFailed} if more would be refused, too
 */
async function isCopied(to: MoveCalls, path: string, one: Definition, state: State): Promise<boolean> {
  const { tag, externalId, body } = one
  try {
    await to.call('PUT', `${path}/${encodeURIComponent(tag)}/${encodeURIComponent(externalId)}`, body)
    return true
  } catch (error) {
    if (!(error instanceof CallFailed) || ![400, 404, 409, 413].includes(error.status ?? 0)) throw error
    if (state.refusals.length < MOST_REFUSALS)
      state.refusals.push(`${path.slice(4)} ${tag}/${externalId}: ${error.message}`)
    return false
  }
}

/** Copies the settings. Those that only one of the servers knows stay as they are. */
async function copySettings(from: MoveCalls, to: MoveCalls, state: State): Promise<void> {
  const theirs = await from.call('GET', '/v1/settings').catch((error: unknown) => {
    if (error instanceof CallFailed && error.status === 404) return undefined
    throw error
  })
  if (theirs === undefined) {
    state.refusals.push('settings: they cannot be read from there; set them by hand.')
    return
  }
  const { settings: ours } = await to.call('GET', '/v1/settings')
  const given = (theirs.settings ?? theirs) as MovedFields
  const left: Record<string, unknown> = { ...knownSettings(given, ours as MovedFields) }
  while (Object.keys(left).length > 0) {
    try {
      await to.call('PATCH', '/v1/settings', left)
      return
    } catch (error) {
      const name = error instanceof CallFailed ? error.param?.split(/[.[]/)[0] : undefined
      if (name === undefined || !Object.hasOwn(left, name)) throw error
      state.refusals.push(`settings ${name}: ${(error as Error).message}`)
      delete left[name]
    }
  }
}

try {
  process.exitCode = await main()
} catch (error) {
  const { code } = error as NodeJS.ErrnoException
  const isUsage = error instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS')
  const isTold = isUsage || error instanceof CallFailed || code !== undefined
  console.error(isTold ? (error as Error).message : error)
  if (isUsage) console.error('`npm run move -- --help` shows the options.')
  else console.error('Run the command again to continue.')
  process.exitCode = 2
}
