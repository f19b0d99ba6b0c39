/** `npm run region`: see {@link HELP}. A composition root. */
import { readFileSync, statSync } from 'node:fs'
import { availableParallelism, constants, setPriority } from 'node:os'
import { resolve } from 'node:path'
import { OptionError } from '../config/option.ts'
import { loadOptions } from '../config/options.ts'
import { memoryShortage } from './geo/extract/importNeeds.ts'
import { mapRegionName, NameTaken, NoRoom } from './geo/extract/finishedBuild.ts'
import type { ImportProgress, ImportStage } from './geo/extract/importMapRegion.ts'
import { AddressFileRefused } from './geo/addressFiles/rows.ts'
import { ExtractRefused } from './geo/extract/osmPbfBlobs.ts'
import {
  addAddresses,
  listMapRegions,
  removeMapRegion,
  runImport,
  UnknownMapRegion,
  updateMapRegions,
  useMapRegion,
  type MapRegionCommands,
} from './cli/mapRegionCommands.ts'
import { SourceMissing } from './geo/extract/updateMapRegion.ts'
import { importText, mapRegionsFolder, MapRegionsRefused } from './geo/extract/mapRegionFiles.ts'
import { ToolFailed, ValhallaMissing } from './geo/extract/valhallaTools.ts'
import { lockStore, StoreLocked, StoreRefused, takeFolder } from './log/store.ts'
import { makeFilesPrivate } from './runtime/privateFiles.ts'

const HELP = `Usage: npm run region -- <command> [options]

Regions are the map data that routing and geocoding use. They are built from OpenStreetMap extracts, for example those of
https://download.geofabrik.de. A running server uses the result of these commands within a second.

  import FILE.osm.pbf [--name NAME]   build a region from an extract, or rebuild it; the default name is that of the file.
                                      If it is interrupted, run the same command again to continue
  add-addresses FILE... [--name NAME]
                                      build a region of addresses and number ranges, which geocoding uses in addition to the others:
                                      OpenAddresses (GeoJSON, CSV), the US National Address Database (text), TIGER/Line
                                      (shapefile, GeoJSON, CSV); text also compressed with gzip. The same name replaces it
  update [NAME] [--file FILE]         bring regions of an earlier version up to date by building what is missing; what is up to
                                      date stays. Needs the same files again: where they were, or --file
  list                                list the regions; where they overlap, the first in the list is used
  use NAME                            move a region to the top of the list
  remove NAME                         stop using a region, and delete it

  --threads NUMBER   threads that build routing tiles; each needs memory. Default: half of the processors
  --data FOLDER      the data folder, as for npm start; other settings of npm start are accepted too

Exit code: 0 success, 1 failure, 2 wrong command.
`

/** How often the progress is drawn on a terminal, and written elsewhere. */
const DRAW_MS = 100
const WRITE_MS = 10_000

/** Something that the user has to change. */
class UsageError extends Error {}

/** Another process is changing the map regions. */
class Busy extends Error {}

class Interrupted extends Error {}

/** The commands with their arguments. */
const COMMANDS: ReadonlyMap<string, string | undefined> = new Map([
  ['import', 'FILE.osm.pbf'],
  ['add-addresses', 'FILE...'],
  ['update', '[NAME]'],
  ['list', undefined],
  ['use', 'NAME'],
  ['remove', 'NAME'],
])

/** Errors whose sentence is for the user. */
const TOLD = [
  Busy,
  UnknownMapRegion,
  NameTaken,
  AddressFileRefused,
  ExtractRefused,
  NoRoom,
  SourceMissing,
  MapRegionsRefused,
  StoreRefused,
  ToolFailed,
  ValhallaMissing,
] as const

async function main(argv: readonly string[]): Promise<number> {
  makeFilesPrivate()
  const [name, unnamed] = takeFlag(argv, '--name')
  const [threads, unthreaded] = takeFlag(unnamed, '--threads')
  const [file, others] = takeFlag(unthreaded, '--file')
  const readFile = (path: string): string => readFileSync(path, 'utf8')
  const { options, positionals, show } = loadOptions({ argv: others, env: process.env, readFile })
  if (show !== undefined) {
    console.log(HELP)
    return 0
  }
  const folder = mapRegionsFolder(resolve(options.data))
  const [command, operand, ...more] = positionals
  checkArguments(positionals)
  if (command !== 'import' && command !== 'update' && threads !== undefined)
    throw new UsageError('--threads belongs to the commands import and update.')
  if (file !== undefined && (command !== 'update' || operand === undefined))
    throw new UsageError('--file belongs to the command update with the name of a region.')
  if (command !== 'import' && command !== 'add-addresses' && name !== undefined)
    throw new UsageError('--name belongs to the commands import and add-addresses.')
  if (command === 'list') {
    listMapRegions(folder, console.log)
    return 0
  }
  const release = lock(folder)
  try {
    const commands = { folder, withoutServer: withoutServer(options.data), print: console.log }
    if (command === 'use') useMapRegion(commands, operand!)
    else if (command === 'remove') await removeMapRegion(commands, operand!)
    else if (command === 'update') return await updating(commands, operand, file, threadsOf(threads))
    else if (command === 'add-addresses')
      return await addingAddresses(commands, [operand!, ...more], name ?? operand!)
    else return await importing(commands, operand!, name ?? operand!, threadsOf(threads))
    return 0
  } finally {
    release()
  }
}

/**
 * Checks the arguments.
 * @throws {UsageError}
 */
function checkArguments([command, ...others]: readonly string[]): void {
  if (command === undefined) throw new UsageError('Give a command.')
  if (!COMMANDS.has(command)) throw new UsageError(`Unknown command: ${command}.`)
  const wanted = COMMANDS.get(command)
  if (wanted !== undefined && !wanted.startsWith('[') && others.length === 0)
    throw new UsageError(`${command} needs an argument: ${command} ${wanted}.`)
  if (wanted?.endsWith('...') === true) return
  const extra = others[wanted === undefined ? 0 : 1]
  if (extra !== undefined)
    throw new UsageError(`${command} does not accept the argument ${JSON.stringify(extra)}.`)
}

/** @returns the exit code */
async function importing(
  commands: MapRegionCommands,
  path: string,
  nameText: string,
  threads: number,
): Promise<number> {
  const name = nameOf(nameText)
  const shortage = memoryShortage(sizeOf(path), threads, process.availableMemory())
  if (shortage !== undefined) console.error(shortage)
  return await interruptible('Run the same command again to continue.', (running) =>
    runImport(commands, { ...running, path: resolve(path), name, threads }),
  )
}

/** @returns the exit code */
async function addingAddresses(
  commands: MapRegionCommands,
  paths: readonly string[],
  nameText: string,
): Promise<number> {
  const name = nameOf(
    nameText.replace(/\.gz$/i, '').replace(/\.(?:shp|csv|txt|json|geojson|geojsonl|ndjson)$/i, ''),
  )
  return await interruptible('Nothing was changed.', (running) =>
    addAddresses(commands, { ...running, paths: paths.map((path) => resolve(path)), name }),
  )
}

/** @returns the exit code */
async function updating(
  commands: MapRegionCommands,
  name: string | undefined,
  file: string | undefined,
  threads: number,
): Promise<number> {
  let isComplete = false
  const code = await interruptible('Run the same command again to continue.', async (running) => {
    const path = file === undefined ? undefined : resolve(file)
    isComplete = await updateMapRegions(commands, name, { ...running, file: path, threads })
  })
  return isComplete ? code : 1
}

/**
 * Reads the name of a region.
 * @throws {UsageError}
 */
function nameOf(text: string): string {
  const name = mapRegionName(text)
  if (name !== undefined) return name
  throw new UsageError(`--name ${JSON.stringify(text)} must contain a letter or a digit.`)
}

/**
 * Runs an import until it ends, or a signal ends it.
 * @param advice what to do after a signal
 * @returns the exit code
 */
async function interruptible(
  advice: string,
  work: (running: {
    readonly now: () => number
    readonly signal: AbortSignal
    readonly onProgress: ImportProgress
  }) => Promise<void>,
): Promise<number> {
  // The server, which serves devices, has priority.
  setPriority(constants.priority.PRIORITY_LOW)
  const interruption = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => interruption.abort(new Interrupted(`Interrupted by ${signal}.`)))
  const progress = new Progress()
  try {
    const onProgress: ImportProgress = (stage, share) => progress.show(stage, share)
    await work({ now: Date.now, signal: interruption.signal, onProgress })
    return 0
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error
    console.error(`${error.message} ${advice}`)
    return 1
  } finally {
    progress.end()
  }
}

/** The size of a file in bytes. It is 0 if the file cannot be read, because the import then says why. */
function sizeOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}

/** @returns the flag's value, if it was given, and the other arguments */
function takeFlag(
  argv: readonly string[],
  flag: string,
): [value: string | undefined, others: readonly string[]] {
  const at = argv.findIndex((argument) => argument === flag || argument.startsWith(`${flag}=`))
  if (at < 0) return [undefined, argv]
  const isJoined = argv[at] !== flag
  const value = isJoined ? argv[at]!.slice(flag.length + 1) : argv[at + 1]
  if (value === undefined || value === '' || value.startsWith('--'))
    throw new UsageError(`${flag} needs a value.`)
  return [value, argv.toSpliced(at, isJoined ? 1 : 2)]
}

function threadsOf(text: string | undefined): number {
  if (text === undefined) return Math.max(1, Math.floor(availableParallelism() / 2))
  if (!/^\d{1,3}$/.test(text) || Number(text) < 1)
    throw new UsageError('--threads must be a number from 1 to 999.')
  return Number(text)
}

/**
 * Locks the folder.
 * @throws {Busy}
 */
function lock(folder: string): () => void {
  try {
    return takeFolder(folder)
  } catch (error) {
    if (!(error instanceof StoreLocked)) throw error
    throw new Busy(`Another import or command is already working on ${folder}.`, { cause: error })
  }
}

function withoutServer(data: string): MapRegionCommands['withoutServer'] {
  return async (work) => {
    let release: () => void
    try {
      release = lockStore(data)
    } catch (error) {
      if (error instanceof StoreLocked) return
      throw error
    }
    try {
      await work()
    } finally {
      release()
    }
  }
}

/**
 * A line on stderr. On a terminal it rewrites itself; elsewhere there is a line for each stage, and an occasional one.
 */
class Progress {
  readonly #onTerminal = process.stderr.isTTY
  #stage: ImportStage | undefined
  #shownAt = -Infinity

  show(stage: ImportStage, share: number): void {
    const now = performance.now()
    const pause = this.#onTerminal ? DRAW_MS : WRITE_MS
    if (stage === this.#stage && now - this.#shownAt < pause) return
    this.#stage = stage
    this.#shownAt = now
    const text = importText(stage, share)
    process.stderr.write(this.#onTerminal ? `\r\x1b[2K${text}` : `${text}\n`)
  }

  end(): void {
    if (this.#onTerminal) process.stderr.write('\r\x1b[2K')
  }
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const isUsage = error instanceof UsageError || error instanceof OptionError
  console.error(isUsage || TOLD.some((one) => error instanceof one) ? (error as Error).message : error)
  if (isUsage) console.error('`npm run region -- --help` shows the commands.')
  process.exitCode = isUsage ? 2 : 1
}
