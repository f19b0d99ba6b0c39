import { readFileSync } from 'node:fs'
import { systemReason } from './errors.ts'

/** A setting that names a file cannot be used. The message names it, and contains no secret. */
export class SettingUnfit extends Error {
  override readonly name = 'SettingUnfit'
  /** The exit code of the process. */
  readonly exitCode = 2
}

/**
 * The content of a file that a setting names.
 * @throws {SettingUnfit}
 */
export function readSettingFile(setting: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    throw new SettingUnfit(`${setting}: ${file} cannot be read: ${systemReason(cause)}`, { cause })
  }
}
