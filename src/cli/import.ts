/** `npm run import`: see {@link HELP}. */
import { accessSync, constants, statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { systemReason } from '../runtime/errors.ts'
import { progressText, reportText } from '../registry/transfer/importReport.ts'
import type { ImportAnswer } from '../registry/transfer/importReport.ts'
import type { ImportUpload, Sent } from './importUpload.ts'
import { NoAnswer, rowsDone, uploadImport } from './importUpload.ts'

const HELP = `Usage: npm run import -- geofences|beacons FILE [options]

Imports a CSV file into a running server; geofences also from GeoJSON, if the name ends in .geojson or .json. Each row creates a record, or replaces the one with the same tag and externalId.
A row that breaks a rule is refused and listed; the other rows are imported.

  --url URL    the server; default http://127.0.0.1:8080
  --key KEY    a secret key, prj_test_sk_… or prj_live_sk_…, which determines the environment. Default: the environment
               variable RINGFENCE_SECRET_KEY, which keeps the key out of the history of the shell

Exit code: 0 all rows were imported, 1 some were not, 2 nothing was done.
`

/** How often the progress is drawn on a terminal, and written elsewhere. */
const DRAW_MS = 100
const WRITE_MS = 2000
/** How often the server is asked for its progress. */
const ASK_MS = 500

/** Something that the user has to change. */
class UsageError extends Error {}

class UnreadableFile extends Error {}

async function main(): Promise<number> {
  const upload = options()
  if (upload === undefined) {
    console.log(HELP)
    return 0
  }
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1000
  let sent: Sent = { bytes: 0, lines: 0 }
  let rows: number | undefined
  const progress = new Progress(() => progressText(sent, rows, upload.size, seconds()))
  let isOver = false
  const ask = async (): Promise<void> => {
    rows = (await rowsDone(upload)) ?? rows
    if (!isOver) progress.show()
  }
  const asking = setInterval(() => void ask(), ASK_MS)
  const { status, body } = await uploadImport(upload, (now) => {
    sent = now
  }).finally(() => {
    isOver = true
    clearInterval(asking)
    progress.end()
  })
  const { import: answer, meta } = (body ?? {}) as { import?: ImportAnswer; meta?: { message?: string } }
  if (answer === undefined) {
    console.error(`${upload.path}: nothing was imported (${status}). ${meta?.message ?? ''}`)
    return 2
  }
  console.log(reportText(upload.path, answer, seconds()))
  return answer.status === 'completed' && answer.refused === 0 ? 0 : 1
}

/** The command line's options; undefined if it only asks for the help. */
function options(): ImportUpload | undefined {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      url: { type: 'string', default: 'http://127.0.0.1:8080' },
      key: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const [kind, path, extra] = positionals
  if ((kind !== 'geofences' && kind !== 'beacons') || path === undefined) {
    throw new UsageError('Give geofences or beacons, and one file.')
  }
  if (extra !== undefined) {
    throw new UsageError(`import takes one file and does not accept the argument ${JSON.stringify(extra)}.`)
  }
  const key = values.key ?? process.env['RINGFENCE_SECRET_KEY']
  if (!key) throw new UsageError('A secret key is required: set RINGFENCE_SECRET_KEY or use --key.')
  if (!/^prj_(?:test|live)_sk_\w+$/.test(key)) {
    throw new UsageError('A secret key begins with prj_test_sk_ or prj_live_sk_.')
  }
  if (!URL.canParse(values.url) || !/^https?:/.test(values.url))
    throw new UsageError(`--url ${values.url}: not a URL.`)
  return { url: new URL(values.url), kind, path, size: fileSize(path), key }
}

/**
 * The size of a file in bytes.
 * @throws {UnreadableFile}
 */
function fileSize(path: string): number {
  try {
    accessSync(path, constants.R_OK)
    const stats = statSync(path)
    if (stats.isFile()) return stats.size
  } catch (error) {
    throw new UnreadableFile(`${path} cannot be read: ${systemReason(error)}.`)
  }
  throw new UnreadableFile(`${path} is not a file.`)
}

/** A line on stderr that rewrites itself on a terminal, and an occasional line elsewhere. */
class Progress {
  readonly #text: () => string
  readonly #onTerminal = process.stderr.isTTY
  #shownAt = performance.now()

  constructor(text: () => string) {
    this.#text = text
  }

  show(): void {
    const now = performance.now()
    if (now - this.#shownAt < (this.#onTerminal ? DRAW_MS : WRITE_MS)) return
    this.#shownAt = now
    process.stderr.write(this.#onTerminal ? `\r\x1b[2K${this.#text()}` : `${this.#text()}\n`)
  }

  end(): void {
    if (this.#onTerminal) process.stderr.write('\r\x1b[2K')
  }
}

try {
  process.exitCode = await main()
} catch (error) {
  const { code } = error as NodeJS.ErrnoException
  const usage = error instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS')
  const isTold = usage || error instanceof NoAnswer || error instanceof UnreadableFile
  console.error(isTold || code !== undefined ? (error as Error).message : error)
  if (usage) console.error('`npm run import -- --help` shows the options.')
  process.exitCode = 2
}
