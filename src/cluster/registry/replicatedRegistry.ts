import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { retry } from '../../runtime/retry.ts'
import { RegistryDatabase, removeDatabase } from '../../registry/store/database.ts'
import { MAX_CHANGES } from '../../registry/store/editLog.ts'
import type { EditStream, Entry, KeptEntry } from './editStream.ts'
import { EntryCodec } from './entryCodec.ts'
import { RegistryReplica } from '../../registry/store/replica.ts'
import type { KeySet } from '../../registry/projects/keys.ts'
import { FILLING, OF_THE_FILLING, ORIGIN, readChanges } from './receivedEntries.ts'
import { ReplicatedEdits, StreamBehind, type ReplicatedOptions } from './replicatedEdits.ts'
import { Registry, registryRows, type RegistrySurroundings } from '../../registry/registry.ts'

/** What a process needs to take part in a registry that many share. */
export interface ReplicatedRegistryOptions
  extends RegistrySurroundings, Omit<ReplicatedOptions, 'replica' | 'codec' | 'stream'> {
  /** The data folder. The file in it is a copy that makes a start quick, and may be lost. */
  readonly folder: string
  /**
   * Whether this process fills a new stream. The others wait until it is filled; they may only have the right to read.
   */
  readonly isMaintainer: boolean
  /** Opens the stream. If it creates the stream, the first sequence should be the given one. */
  readonly openStream: (firstSequence: number) => Promise<EditStream>
  /** The keys of a first project, which is created if there is no project yet. */
  readonly firstKeys?: KeySet | undefined
  /** Aborted to give up a start that is still waiting. */
  readonly signal?: AbortSignal
}

/** The folder has its own registry, and the stream has a different one. */
export class RegistryOfItsOwn extends Error {
  override readonly name = 'RegistryOfItsOwn'

  constructor(file: string) {
    super(
      `${file} is a registry of its own, and the servers have another one already. Nothing is merged: give this process ` +
        'an empty data folder, or let this one be the first to start with new servers.',
    )
  }
}

const PAGE_ENTRIES = 500
const CHUNK_ENTRIES = 5000
const RETRY_MS = 200
/** If a process that fills the stream writes nothing for this long, another process takes over. */
const STUCK_MS = 10_000

/**
 * Takes part in the registry, which is up to date when this resolves. Waits for the servers as long as it takes.
 *
 * The first process fills the stream with the content of its data folder: nothing, or the registry of an embedded
 * engine, which moves into the distributed engine in this way.
 * @throws {RegistryOfItsOwn} {@link StreamBehind}, and the errors of opening the file
 */
export async function openReplicatedRegistry(options: ReplicatedRegistryOptions): Promise<Registry> {
  const { folder, firstKeys } = options
  const codec = new EntryCodec(registryRows(options.collections))
  let database = new RegistryDatabase(folder)
  let registry: Registry | undefined
  try {
    const again = <T>(work: () => Promise<T>): Promise<T> => retryUnlessLost(work, options)
    const stream = await again(() => options.openStream(database.revision + 1))
    const me = database.promised ?? randomBytes(8).toString('hex')
    const origin = await again(() => originOf(stream, database, codec, options.isMaintainer ? me : undefined))
    if (database.origin !== undefined && database.origin !== origin.id) {
      // The file is a copy of a registry that no longer exists.
      database.close()
      removeDatabase(folder)
      database = new RegistryDatabase(folder)
    }
    if (database.origin === undefined) {
      if (database.promised === origin.id) database.follow(origin.id, origin.sequence)
      else if (database.isEmpty) database.follow(origin.id, 0)
      else throw new RegistryOfItsOwn(database.file)
    }
    const replica = new RegistryReplica(database, codec.kinds)
    await again(() => catchUp(replica, codec, stream, options))
    registry = new Registry(replica, new ReplicatedEdits({ replica, codec, stream, ...options }), options)
    const opened = registry
    if (firstKeys !== undefined) {
      await again(() => opened.edit(() => opened.createFirstProject(firstKeys)))
    }
    return opened
  } catch (error) {
    if (registry === undefined) database.close()
    else registry.close()
    throw error
  }
}

interface Origin {
  readonly id: string
  readonly sequence: number
}

/**
 * Finds out which registry the stream has. If it has none yet, this process fills it.
 * @param me identifies this process and a new registry in the stream; it stays the same after a start that was
 * interrupted. If undefined, another process must fill the stream
 */
async function originOf(
  stream: EditStream,
  database: RegistryDatabase,
  codec: EntryCodec,
  me: string | undefined,
): Promise<Origin> {
  let seen = -1
  let seenAt = 0
  for (;;) {
    const entry = await stream.last(ORIGIN)
    if (entry?.value !== undefined) {
      const { id } = JSON.parse(Buffer.from(entry.value).toString()) as { id: string }
      return { id, sequence: entry.sequence }
    }
    if (me !== undefined) {
      const last = await stream.lastSequence()
      const filling = await stream.last(FILLING)
      if (last !== seen) {
        seen = last
        seenAt = performance.now()
      }
      const isFree = filling === undefined || filling.edit === me || performance.now() - seenAt > STUCK_MS
      if (isFree && (await fill(stream, database, codec, me, last))) continue
    }
    await sleep(RETRY_MS)
  }
}

/**
 * Fills the stream with the content of the file. The origin comes last, and processes that start earlier wait for it.
 * Returns false if another process does so. Removes what an interrupted attempt left.
 */
async function fill(
  stream: EditStream,
  database: RegistryDatabase,
  codec: EntryCodec,
  edit: string,
  last: number,
): Promise<boolean> {
  // The id must be known again if this process ends before the file says that it follows the stream.
  if (database.origin === undefined) database.promise(edit)
  let after = await stream.append(edit, [jsonEntry(FILLING, { by: edit })], last)
  const leftOver = new Set(after === undefined ? [] : await namesIn(stream, after))
  let page: Entry[] = []
  for (const change of new RegistryReplica(database, codec.kinds).allChanges()) {
    const entry = codec.entryOf(change)
    leftOver.delete(entry.name)
    page.push(entry)
    if (page.length < PAGE_ENTRIES) continue
    if (after === undefined) return false
    after = await stream.append(edit, page, after)
    page = []
  }
  for (const name of leftOver) page.push({ name, value: undefined })
  page.push(jsonEntry(ORIGIN, { format: 1, id: edit }))
  while (page.length > 0) {
    if (after === undefined) return false
    after = await stream.append(edit, page.splice(0, MAX_CHANGES), after)
  }
  return after !== undefined
}

/**
 * The names of all entries up to the newest one, whose sequence is given, without the entries that belong to the
 * filling.
 */
async function namesIn(stream: EditStream, newest: number): Promise<string[]> {
  const names: string[] = []
  const ended = new AbortController()
  for await (const { name, value, sequence } of stream.follow(0, ended.signal)) {
    if (value !== undefined && !OF_THE_FILLING.has(name)) names.push(name)
    if (sequence >= newest) break
  }
  ended.abort()
  return names
}

/** Applies everything that is in the stream to the rows in the file. Nothing is in memory yet. */
async function catchUp(
  replica: RegistryReplica,
  codec: EntryCodec,
  stream: EditStream,
  { unreadable, signal }: ReplicatedRegistryOptions,
): Promise<void> {
  const last = await stream.lastSequence()
  if (last < replica.revision) throw new StreamBehind(last, replica.revision)
  if (last === replica.revision) return
  const ended = new AbortController()
  const end = (): void => ended.abort()
  signal?.addEventListener('abort', end)
  let received: KeptEntry[] = []
  for await (const entry of stream.follow(replica.revision, ended.signal)) {
    received.push(entry)
    // Others may edit all the time, so it may never happen that nothing is left to read.
    const isEnd = (entry.behind === 0 || entry.sequence >= last) && entry.part === entry.parts
    if (!isEnd && received.length < CHUNK_ENTRIES) continue
    replica.applyRows(readChanges(replica, codec, received, unreadable), entry.sequence)
    received = []
    if (isEnd) break
  }
  signal?.removeEventListener('abort', end)
  end()
  signal?.throwIfAborted()
}

/** Repeats the work until it succeeds or the start is given up. */
function retryUnlessLost<T>(
  work: () => Promise<T>,
  { troubled, signal, retryMs = RETRY_MS }: ReplicatedRegistryOptions,
): Promise<T> {
  const failed = (error: Error): void => {
    if (error instanceof StreamBehind || error.name === 'InvalidKeys') throw error
    troubled(error)
  }
  return retry(work, { pauses: { firstMs: retryMs, lastMs: retryMs }, failed, signal })
}

function jsonEntry(name: string, content: object): Entry {
  return { name, value: Buffer.from(JSON.stringify(content)) }
}
