import type { AnswerOf } from '../../../../sdk/src/types.ts'
import { call } from '../../api/call.ts'

export type Import = AnswerOf<'/v1/imports/geofences/{id}', 'get'>['import']
export type ImportedKind = 'geofences' | 'beacons'

const POLL_MS = 400

/**
 * Imports a file, or checks it. The answer comes when the import has ended; until then the newest entry of the history
 * says how far it is.
 * @throws CallFailure
 */
export async function runImport(
  kind: ImportedKind,
  file: File,
  dryRun: boolean,
  onProgress: (state: Import) => void,
): Promise<Import> {
  const query = { fileName: file.name, ...(dryRun && { dryRun: true }) }
  // The type says which format it is, whatever the system calls it.
  const body = new Blob([file], { type: isGeoJson(file) ? 'application/geo+json' : 'text/csv' })
  const before = dryRun ? undefined : (await newest(kind))?._id
  const over = new AbortController()
  const answer = (
    kind === 'geofences'
      ? call('post', '/v1/imports/geofences', { query, body: body as never })
      : call('post', '/v1/imports/beacons', { query, body: body as never })
  ).finally(() => {
    over.abort()
  })
  // A check is not in the history, so its progress cannot be followed.
  if (!dryRun) void follow()
  return (await answer).import as Import

  async function follow(): Promise<void> {
    while (!over.signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      const state = await newest(kind).catch(() => undefined)
      if (!over.signal.aborted && state !== undefined && state._id !== before) onProgress(state)
    }
  }
}

function isGeoJson({ name }: { readonly name: string }): boolean {
  return /\.(?:geo)?json$/i.test(name)
}

async function newest(kind: ImportedKind): Promise<Import | undefined> {
  const query = { limit: 1 }
  const { imports } =
    kind === 'geofences'
      ? await call('get', '/v1/imports/geofences', { query })
      : await call('get', '/v1/imports/beacons', { query })
  return imports[0] as Import | undefined
}
