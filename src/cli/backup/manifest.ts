import { createHash } from 'node:crypto'
import type { BackupContents } from './port.ts'

/** The file of a backup that lists its contents. */
export const MANIFEST_FILE = 'manifest.json'
const FORMAT = 1

export interface BackedUpFile {
  /** The path relative to the folder, with slashes. */
  readonly name: string
  readonly bytes: number
  /** In hexadecimal. */
  readonly sha256: string
}

export interface Manifest extends Omit<BackupContents, 'files' | 'texts'> {
  readonly format: number
  /** The version of Ringfence that wrote it. */
  readonly version: string
  /** In ISO 8601. */
  readonly madeAt: string
  readonly files: readonly BackedUpFile[]
}

/** The folder is not a backup, or it was changed after it was made. */
export class BackupDamaged extends Error {
  override name = 'BackupDamaged'

  constructor(path: string, sentence: string) {
    super(`${path}: ${sentence} Nothing was restored.`)
  }
}

/** Writes the manifest as JSON. Its last member is a digest of all members before it, in the order written here. */
export function encodeManifest(content: Omit<Manifest, 'format'>): string {
  const manifest = { format: FORMAT, ...content }
  return `${JSON.stringify({ ...manifest, sha256: sha256(JSON.stringify(manifest)) }, null, 1)}\n`
}

/**
 * Reads a manifest.
 * @param path the path of the file, for messages
 * @throws {BackupDamaged} unless it is exactly what {@link encodeManifest} wrote, in a format that is known
 */
export function decodeManifest(text: string, path: string): Manifest {
  let found: Record<string, unknown> | null
  try {
    found = JSON.parse(text) as typeof found
  } catch {
    throw new BackupDamaged(path, 'is damaged: not JSON.')
  }
  const { sha256: sum, ...manifest } = { ...found }
  if (typeof manifest['format'] === 'number' && manifest['format'] > FORMAT) {
    const version = String(manifest['version'])
    const sentence = `backup format ${manifest['format']} is newer than this version reads (${FORMAT}); it was made by Ringfence ${version}.`
    throw new BackupDamaged(path, sentence)
  }
  if (manifest['format'] !== FORMAT || sum !== sha256(JSON.stringify(manifest))) {
    throw new BackupDamaged(path, 'is damaged.')
  }
  return manifest as unknown as Manifest
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
