import { join } from 'node:path'
import type { SourceState } from '../registry/sync/syncRows.ts'
import { SourceFailed } from './sourceFailed.ts'
import type { Source } from './sourceRequest.ts'
import type { RunState } from './syncRunState.ts'

/** The pauses before a source is requested again. */
const RETRY_MS = [10_000, 60_000, 300_000]
const MAX_RETRY_AFTER_MS = 30 * 60_000

/**
 * Fetches the sources of a run, one after the other, and notes which arrived and which failed.
 * @param folder for their files
 */
export async function fetchSources(state: RunState, folder: string): Promise<void> {
  for (const [index, source] of state.sources.entries()) {
    await fetchOne(state, index, source, join(folder, String(index)))
    await state.save()
  }
}

async function fetchOne(state: RunState, index: number, source: Source, file: string): Promise<void> {
  const { syncs, fetch } = state.parts
  const { scope, force } = state.run
  const told = state.run.sources[index]!
  const known = force ? undefined : syncs.sourceState(scope, source.id)
  for (;;) {
    state.signal.throwIfAborted()
    try {
      told.attempts++
      const { httpStatus, content, etag, lastModified } = await fetch(source, file, known, state.signal)
      Object.assign(told, { httpStatus, ...(etag !== undefined && { etag }) })
      if (content !== undefined) told.bytes = content.bytes
      if (content === undefined || content.sha256 === known?.sha256) {
        told.status = 'unchanged'
        return
      }
      const version: SourceState = {
        sha256: content.sha256,
        ...(etag !== undefined && { etag }),
        ...(lastModified !== undefined && { lastModified }),
      }
      state.arrived.push({ index, file, state: version })
      return
    } catch (error) {
      if (!(error instanceof SourceFailed)) throw error
      const pause = RETRY_MS[told.attempts - 1]
      if (!error.isPassing || pause === undefined) return state.fail(index, error)
      await state.sleep(Math.max(pause, Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)))
    }
  }
}
