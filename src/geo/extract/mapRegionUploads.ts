/**
 * Imports of map regions over HTTP: receives an extract, and imports it in a separate process.
 *
 * Owns: that there is only one import at a time, its progress, and what it leaves on the disk. Does not own: how a region is
 * built (importMapRegion.ts), and who may import one (the routes).
 *
 * Invariants
 * - UPLOAD-1: One import is under way at a time, from its first byte until nothing of it is left but the region.
 * - UPLOAD-2: However it ends, also by `kill -9`: the regions in service are those from before, or the new one is
 *   complete among them. The extract and the unfinished build are gone, at the latest after the next start.
 * - UPLOAD-3: Memory does not grow with the extract, and the disk is not filled: there is room for the build before
 *   each part of the extract is stored.
 */
import { fork, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { MAP_REGION_UPLOAD_CHILD } from '../../../workers/urls.ts'
import { ApiError, failureFields } from '../../runtime/errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { newId } from '../../runtime/newId.ts'
import { retry } from '../../runtime/retry.ts'
import { checkRoom, NoRoom } from './finishedBuild.ts'
import { memoryShortage } from './importNeeds.ts'
import { ROOM_PER_BYTE } from './importMapRegion.ts'
import { mapRegionsFolder, readManifest, readRecord, sweepBuilds, unfinishedBuild } from './mapRegionFiles.ts'
import { storeExtract } from './storeExtract.ts'
import { isUnderWay, UploadHistory, type MapRegionUpload, type UploadStatus } from './uploadHistory.ts'
import type { UploadNews } from './uploadImport.ts'

/** The folder of the extracts that were received, each in a folder of its import, in that of the regions. */
const RECEIVED = 'received'
/** How long the process of an import may take to end. */
const KILL_AFTER_MS = 2000
/** The room on the disk is checked again each time this many bytes have arrived. */
const CHECKED_BYTES = 16 << 20
/** How many sentences about missing parts of a region are kept. */
const MOST_NOTES = 50
/** How often the lock is tried. The process of an import has it until it ends, and a command of npm run region may have it for a while. */
const LOCKING = { pauses: { firstMs: 1000, lastMs: 1000 } }
const LOCKING_ATTEMPTS = 30
const REMOVING = { recursive: true, force: true, maxRetries: 5, retryDelay: 200 } as const

/** Why an import was ended from outside. */
class Ended extends Error {
  readonly status: UploadStatus
  readonly answer: ApiError

  constructor(status: UploadStatus, answer: ApiError) {
    super(answer.message)
    this.status = status
    this.answer = answer
  }
}

export interface MapRegionUploadsParts {
  readonly dataFolder: string
  /** Takes the lock of a folder, or throws at once because another process has it. */
  readonly lock: (folder: string) => () => void
  /** Looks for the new region. */
  readonly imported: () => Promise<void>
  /** The free memory in bytes, without swap. */
  readonly memory: () => number
  readonly clock: Clock
  readonly logger: Logger
}

/** The import in progress. */
interface Running {
  readonly id: string
  readonly name: string
  readonly path: string
  readonly end: AbortController
  /** Resolves when nothing of it is left. */
  readonly ended: PromiseWithResolvers<void>
}

export class MapRegionUploads implements Service {
  readonly name = 'imports of regions'
  readonly #parts: MapRegionUploadsParts
  readonly #folder: string
  readonly #history: UploadHistory
  #running: Running | undefined
  #cleaning: Promise<void> | undefined
  readonly #stopped = new AbortController()

  constructor(parts: MapRegionUploadsParts) {
    this.#parts = parts
    this.#folder = mapRegionsFolder(resolve(parts.dataFolder))
    this.#history = new UploadHistory(this.#folder, (error) =>
      parts.logger.warn(failureFields(error), 'the history of imported regions cannot be read or written'),
    )
  }

  /** Newest first. */
  get all(): readonly MapRegionUpload[] {
    return this.#history.all
  }

  get(id: string): MapRegionUpload | undefined {
    return this.#history.get(id)
  }

  /** Removes what was left of an import that was interrupted by the end of the process. It does not wait for that. */
  start(): void {
    const left = this.#history.all.filter(isUnderWay)
    const hasFiles = fs.existsSync(join(this.#folder, RECEIVED))
    if (left.length === 0 && !hasFiles) return
    this.#cleaning = this.#clean(left).finally(() => (this.#cleaning = undefined))
  }

  /** Ends the import in progress, which leaves nothing behind. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    const answer = new ApiError(503, 'Shutting down.', { retryAfter: 1 })
    this.#running?.end.abort(new Ended('interrupted', answer))
    await Promise.all([this.#running?.ended.promise, this.#cleaning])
  }

  /**
   * Receives an extract, and begins to import it.
   * @param name of the region, in its normal form; see mapRegionName
   * @param expected bytes of the extract, if they are known
   * @returns when the extract has arrived; the import continues
   * @throws ApiError 400 for a file of another kind, 409 while another import is under way, 503 without room on the disk
   * or in memory; and what the file throws
   */
  async receive(name: string, file: Readable, expected: number | undefined): Promise<MapRegionUpload> {
    this.#refuseOther()
    const running = this.#begin(name)
    const { signal } = running.end
    try {
      this.#checkNeeds(expected ?? 0, expected)
      await mkdir(join(running.path, '..'), { recursive: true, mode: 0o700 })
      let checked = 0
      await storeExtract(file, running.path, signal, (bytes) => {
        this.#change(running.id, { bytes })
        if (bytes - checked <= CHECKED_BYTES) return
        this.#checkNeeds(bytes)
        checked = bytes
      })
      this.#checkNeeds(this.get(running.id)!.bytes)
      signal.throwIfAborted()
    } catch (error) {
      const answer = this.#answerTo(error as Error, signal)
      await this.#finish(running, ...endOf(answer, signal))
      throw answer
    }
    this.#change(running.id, { status: 'importing' })
    this.#history.save()
    void this.#import(running)
    return this.get(running.id)!
  }

  /**
   * Ends an import. The regions that were in service before stay in service.
   * @returns the import after its end; undefined if there is none with that id
   * @throws ApiError 409 if it has ended already
   */
  async cancel(id: string): Promise<MapRegionUpload | undefined> {
    const found = this.get(id)
    if (found === undefined) return undefined
    if (this.#running?.id !== id) throw new ApiError(409, `The import has ended already: ${found.status}.`)
    this.#running.end.abort(new Ended('canceled', new ApiError(409, 'The import was canceled.')))
    await this.#running.ended.promise
    return this.get(id)
  }

  /** @throws ApiError 409, 503 */
  #refuseOther(): void {
    if (this.#stopped.signal.aborted) throw new ApiError(503, 'Shutting down.', { retryAfter: 1 })
    if (this.#cleaning !== undefined)
      throw new ApiError(503, 'What an interrupted import left is being removed. Try again.', {
        retryAfter: 5,
      })
    if (this.#running !== undefined) {
      const { id, name } = this.#running
      throw new ApiError(
        409,
        `Another import is under way, ${id} of the region ${name}. One at a time is made.`,
      )
    }
    try {
      fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      this.#parts.lock(this.#folder)()
    } catch (error) {
      if ((error as Error).name !== 'StoreLocked') throw error
      const what = 'The sample is being imported, or a command of npm run region is running. Try again.'
      throw new ApiError(409, what, { cause: error })
    }
  }

  #begin(name: string): Running {
    const createdAt = this.#parts.clock.now()
    const id = newId(createdAt)
    const path = join(this.#folder, RECEIVED, id, `${name}.osm.pbf`)
    const running = { id, name, path, end: new AbortController(), ended: Promise.withResolvers<void>() }
    this.#running = running
    this.#history.put({ id, name, createdAt, status: 'uploading', bytes: 0, notes: [] })
    this.#history.save()
    return running
  }

  /**
   * Whether there is room for the import of an extract.
   * @param toCome the bytes of the extract that are still to be stored
   * @throws {NoRoom} ApiError 503
   */
  #checkNeeds(bytes: number, toCome = 0): void {
    checkRoom(this.#folder, bytes * ROOM_PER_BYTE + toCome)
    const shortage = memoryShortage(bytes, 1, this.#parts.memory())
    if (shortage !== undefined) throw new ApiError(503, shortage)
  }

  #answerTo(error: Error, signal: AbortSignal): Error {
    if (signal.reason instanceof Ended) return signal.reason.answer
    if (error instanceof NoRoom) return new ApiError(503, this.#withoutPaths(error.message), { cause: error })
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC')
      return new ApiError(503, 'The disk is full.', { cause: error })
    return error
  }

  async #import(running: Running): Promise<void> {
    const { id, name, path, end } = running
    const child = fork(MAP_REGION_UPLOAD_CHILD, [this.#folder, path, name], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      // The process gets nothing of our environment, which contains keys and passwords.
      env: { PATH: process.env.PATH },
      execArgv: ['--max-semi-space-size=4'],
    })
    let failure: Extract<UploadNews, { failed: string }> | undefined
    child.on('message', (news: UploadNews) => {
      if ('failed' in news) failure = news
      else if ('stage' in news) this.#change(id, news)
      else {
        const { notes } = this.get(id)!
        if (notes.length < MOST_NOTES) this.#change(id, { notes: [...notes, this.#withoutPaths(news.note)] })
      }
    })
    const reason = await failureOf(child, end.signal)
    if (reason === undefined || this.#isInService(name, path)) {
      await this.#parts.imported()
      return await this.#finish(running, 'completed')
    }
    if (end.signal.aborted)
      return await this.#finish(running, ...endOf(end.signal.reason as Error, end.signal))
    if (failure?.isTold === true)
      return await this.#finish(running, 'failed', this.#withoutPaths(failure.failed, path))
    this.#parts.logger.error(
      { reason: failure?.failed ?? reason, region: name },
      'the import of a region failed',
    )
    await this.#finish(
      running,
      'failed',
      reason === 'SIGKILL'
        ? 'The system ended the import (SIGKILL), most likely because memory ran out.'
        : 'The import failed. The log of the server says why.',
    )
  }

  /** Removes what is left of the import, and notes how it ended. */
  async #finish({ id, name, ended }: Running, status: UploadStatus, message?: string): Promise<void> {
    try {
      const isBuilt = this.get(id)!.status === 'importing'
      if (isBuilt && status !== 'completed')
        await this.#locked({ attempts: LOCKING_ATTEMPTS }, () =>
          rm(unfinishedBuild(this.#folder, name), REMOVING),
        )
      await rm(join(this.#folder, RECEIVED), REMOVING)
    } catch (error) {
      // The next start removes it.
      this.#parts.logger.warn(
        { ...failureFields(error), region: name },
        'files of an import cannot be removed',
      )
    }
    const finishedAt = this.#parts.clock.now()
    this.#change(id, { status, message, finishedAt, stage: undefined, share: undefined })
    this.#history.save()
    this.#parts.logger.info({ region: name, status, reason: message }, 'an import of a region has ended')
    this.#running = undefined
    ended.resolve()
  }

  async #clean(left: readonly MapRegionUpload[]): Promise<void> {
    try {
      for (const { id, name } of left) {
        const path = join(this.#folder, RECEIVED, id, `${name}.osm.pbf`)
        // The process of the import may be alive: it makes the products of a large extract without a pause, for a minute
        // or more, and only then notices that its server was killed. It may even have been about to put the region into
        // service. Once the folder can be locked, it has ended.
        const isDone = await this.#locked({ signal: this.#stopped.signal }, async () => {
          if (this.#isInService(name, path)) return true
          await rm(unfinishedBuild(this.#folder, name), REMOVING)
          await sweepBuilds(this.#folder)
          return false
        })
        const message = 'The server ended during the import. Send the extract again.'
        this.#change(id, {
          ...(isDone ? { status: 'completed' } : { status: 'interrupted', message }),
          finishedAt: this.#parts.clock.now(),
        })
        if (isDone) await this.#parts.imported()
      }
      await rm(join(this.#folder, RECEIVED), REMOVING)
      if (left.length > 0) this.#history.save()
    } catch (error) {
      // A server that stops leaves it to the next one.
      if (this.#stopped.signal.aborted) return
      this.#parts.logger.warn(failureFields(error), 'what an interrupted import left cannot be removed')
    }
  }

  /** Locks the folder, and works while it has the lock. It waits for the lock for a number of attempts, or until the signal is aborted. */
  async #locked<T>(
    limit: { readonly attempts: number } | { readonly signal: AbortSignal },
    work: () => Promise<T>,
  ): Promise<T> {
    const release = await retry(async () => this.#parts.lock(this.#folder), { ...LOCKING, ...limit })
    try {
      return await work()
    } finally {
      release()
    }
  }

  /** Whether the region was built from this file. */
  #isInService(name: string, path: string): boolean {
    try {
      const region = readManifest(this.#folder).regions.find((one) => one.name === name)
      return region !== undefined && readRecord(join(this.#folder, region.folder)).sources[0]?.path === path
    } catch {
      return false
    }
  }

  #change(id: string, changes: Partial<MapRegionUpload>): void {
    this.#history.put({ ...this.get(id)!, ...changes })
  }

  /** Removes folders from a text, because not everybody who may import should see folders of this machine. */
  #withoutPaths(sentence: string, path?: string): string {
    const shorter = path === undefined ? sentence : sentence.replaceAll(path, 'The file')
    return shorter.replaceAll(this.#folder, 'The data folder')
  }
}

/** The end of an import that was refused or broken off. */
function endOf(error: Error, { reason }: AbortSignal): [status: UploadStatus, message: string] {
  if (reason instanceof Ended) return [reason.status, reason.message]
  const isTold = error instanceof ApiError
  return ['failed', isTold ? error.message : 'The import failed. The log of the server says why.']
}

/** @returns why the process has failed; undefined if it has not */
async function failureOf(child: ChildProcess, signal: AbortSignal): Promise<string | undefined> {
  let killTimer: NodeJS.Timeout | undefined
  const end = (): void => {
    if (child.connected) child.disconnect()
    killTimer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
  }
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    return await new Promise<string | undefined>((done) => {
      child.once('error', (error) => done(error.message))
      // Its last message may come after its exit.
      child.once('exit', (code, by) => {
        const reason = code === 0 ? undefined : (by ?? `exit code ${code}`)
        if (child.connected) child.once('disconnect', () => done(reason))
        else done(reason)
      })
    })
  } finally {
    clearTimeout(killTimer)
    signal.removeEventListener('abort', end)
  }
}
