/**
 * The second composition root: the operator's commands, beside a running server or on a folder without one.
 */
import { existsSync, realpathSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join, resolve } from 'node:path'
import { OptionError } from '../../config/option.ts'
import type { Options } from '../../config/options.ts'
import packageJson from '../../package.json' with { type: 'json' }
import type { BackupSource } from './backup/port.ts'
import { restoreBackup } from './backup/restore.ts'
import { OpenStore } from './backup/source.ts'
import { megabytes, writeBackup } from './backup/write.ts'
import { connectControl } from './control/client.ts'
import { ACCOUNTS_USAGE } from './accountCommands.ts'
import { siteOf } from './site.ts'
import { openEventIndex } from '../events/eventIndex.ts'
import { openCommitLog } from '../log/commitLog.ts'
import { systemFiles } from '../log/files.ts'
import { recoverLog } from '../log/recovery.ts'
import { logFolder } from '../log/segments.ts'
import { openSnapshots } from '../log/snapshots.ts'
import { lockStore, openStore } from '../log/store.ts'
import {
  isRegistryCommand,
  KEYS_USAGE,
  NoRegistry,
  PROJECTS_USAGE,
  readRegistryCommand,
  withRegistry,
} from './registryCommands.ts'
import { RegistryDatabase } from '../registry/store/database.ts'
import { systemClock as clock } from '../runtime/clock.ts'

const BACKUP_USAGE = `Usage: npm run backup -- FOLDER

Copies the data folder into the new folder FOLDER. The server may be running or stopped.`

const RESTORE_USAGE = `Usage: npm run restore -- BACKUP [--data FOLDER]

Copies a backup into the data folder, which must be new or empty, and checks every byte.`

const USAGES: Readonly<Record<string, string>> = {
  keys: KEYS_USAGE,
  projects: PROJECTS_USAGE,
  accounts: ACCOUNTS_USAGE,
  backup: BACKUP_USAGE,
  restore: RESTORE_USAGE,
}

/** The limit of reading and of writing per second while a server runs, because the server needs the disk. */
const BESIDE_A_SERVER_BYTES = 128 << 20
/** How often a long command reports its progress. */
const PROGRESS_MS = 1000

type Print = (line: string) => void

/** The text of `npm run <command> -- --help`; undefined if there is no such command. */
export function commandHelp(command: string | undefined): string | undefined {
  return command !== undefined && Object.hasOwn(USAGES, command) ? USAGES[command] : undefined
}

/**
 * Runs `npm run <command> -- …`.
 * @param line the command's name and its arguments
 * @returns the exit code: 0 if it is done, 2 for a wrong command
 * @throws an error whose message says what prevents the command
 */
export async function operate(line: readonly string[], options: Options, print: Print): Promise<number> {
  const [command, folder] = line
  if (isRegistryCommand(command)) return registry(line, options, print)
  if (command === 'backup') {
    const problem = folderProblem(line)
    if (problem === undefined) return backup(resolve(folder!), options, print)
    print(`${problem}\n\n${BACKUP_USAGE}`)
    return 2
  }
  if (command === 'restore') {
    const problem = folderProblem(line)
    if (problem === undefined) return restore(resolve(folder!), resolve(options.data), print)
    print(`${problem}\n\n${RESTORE_USAGE}`)
    return 2
  }
  throw new OptionError(
    `unknown command ${JSON.stringify(command)}; settings are written as --name value, and --help lists both`,
  )
}

/** Says what is wrong with a command that takes one folder; undefined if nothing is. */
function folderProblem([command, folder, ...more]: readonly string[]): string | undefined {
  if (folder === undefined || folder === '') return `${command} needs a folder.`
  return more.length === 0 ? undefined : `${command} does not accept the argument ${JSON.stringify(more[0])}.`
}

async function registry(line: readonly string[], options: Options, print: Print): Promise<number> {
  const { data } = options
  const command = readRegistryCommand(line, siteOf(options))
  if (typeof command === 'string') {
    print(command)
    return 2
  }
  const server = await connectControl(data)
  if (server !== undefined) return server.run(line, print)
  if (!existsSync(data)) throw new NoRegistry(data)
  const release = lockStore(data)
  try {
    return withRegistry(data, clock, (found) => command(found, print))
  } finally {
    release()
  }
}

async function backup(target: string, options: Options, print: Print): Promise<number> {
  const server = await connectControl(options.data)
  if (server === undefined && !existsSync(join(options.data, 'store.json'))) {
    throw new Error(`There is nothing to back up: ${resolve(options.data)} is not a data folder.`)
  }
  const data = realpathSync(options.data)
  print(
    `Backing up ${data}, ${server === undefined ? 'on which no server runs' : 'whose server keeps running'} …`,
  )
  // The server has priority, because it serves devices.
  setPriority(constants.priority.PRIORITY_LOW)
  const stopped = server === undefined ? await openStopped(data, options) : undefined
  const manifest = await writeBackup({
    data,
    target,
    source: server ?? stopped!,
    version: packageJson.version,
    now: clock.now(),
    checkLog: (folder, storeId) => recoverLog(systemFiles, logFolder(folder), storeId).offset,
    bytesPerSecond: server === undefined ? Infinity : BESIDE_A_SERVER_BYTES,
    progress: reporter(print),
    signal: interruption(),
  }).finally(() => stopped?.close())
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0)
  print(`Backed up into ${target}: ${manifest.files.length} files, ${megabytes(bytes)},`)
  print(`log position ${manifest.logPosition}, registry revision ${manifest.registryRevision}.`)
  return 0
}

async function restore(from: string, data: string, print: Print): Promise<number> {
  const manifest = await restoreBackup(from, data, reporter(print), interruption())
  const { madeAt, version, files, logPosition, registryRevision } = manifest
  print(`Restored the backup of ${madeAt}, made by Ringfence ${version}, into ${data}:`)
  print(`${files.length} files, log position ${logPosition}, registry revision ${registryRevision}.`)
  return 0
}

/** The store of a folder without a running server. It is opened as in a start of the server. */
async function openStopped(
  data: string,
  options: Options,
): Promise<BackupSource & { close(): Promise<void> }> {
  const store = openStore(data, options)
  const fail = (error: Error): never => {
    throw error
  }
  const database = new RegistryDatabase(data)
  const { revision } = database
  database.close()
  const log = openCommitLog({ store, ...options, failed: fail })
  const snapshots = openSnapshots(data, store.storeId, () => {})
  const events = await openEventIndex({ file: join(data, 'events.sqlite'), failed: fail })
  const source = new OpenStore({
    ...store,
    log,
    events,
    pauseMs: 0,
    // The registry stays unchanged, because nobody opens it without the folder's lock.
    registry: { revision, freeze: () => () => {} },
    snapshots,
    holdSnapshots: async () => () => {},
  })
  const close = async (): Promise<void> => {
    await events.close()
    await log.close()
    store.release()
  }
  return Object.assign(source, { close })
}

/** Prints the progress from time to time. */
function reporter(print: Print): (done: number, total: number) => void {
  let next = clock.now() + PROGRESS_MS
  return (done, total) => {
    if (clock.now() < next) return
    next = clock.now() + PROGRESS_MS
    print(`${Math.min(99, Math.floor((done / total) * 100))} % of ${megabytes(total)}`)
  }
}

/** A signal that Ctrl-C and SIGTERM abort, so that unfinished results are removed. */
function interruption(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => controller.abort(new Error(`interrupted by ${signal}; everything was removed`)))
  }
  return controller.signal
}
