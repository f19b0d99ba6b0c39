import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ScopeId } from '../model/scope.ts'

const KEY_FILE = 'sync.key'
const KEY = /^[0-9a-f]{64}$/i
const VERSION = 'v1.'
const IV_BYTES = 12
const TAG_BYTES = 16

/** The secrets of a sync were encrypted with another key, or their text was changed. */
export class SecretsUnreadable extends Error {
  override readonly name = 'SecretsUnreadable'

  constructor(cause?: unknown) {
    super(
      'The secrets of the sync cannot be decrypted, because they were stored with another key. Enter them again, ' +
        'and give all processes the same option syncKey.',
      { cause },
    )
  }
}

/**
 * Encrypts what must not be readable in the registry (AES-256-GCM). A text belongs to one environment: copied into the
 * row of another, it cannot be opened.
 */
export class SecretBox {
  readonly #key: Buffer

  /**
   * Takes the key.
   * @param key 64 hexadecimal digits
   */
  constructor(key: string) {
    this.#key = Buffer.from(key, 'hex')
  }

  seal(scope: ScopeId, secrets: object): string {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv)
    cipher.setAAD(purposeOf(scope))
    const sealed = Buffer.concat([cipher.update(JSON.stringify(secrets), 'utf8'), cipher.final()])
    return VERSION + Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
  }

  /**
   * Opens a text.
   * @throws {SecretsUnreadable}
   */
  open<T>(scope: ScopeId, text: string): T {
    try {
      if (!text.startsWith(VERSION)) throw new Error('another version')
      const bytes = Buffer.from(text.slice(VERSION.length), 'base64')
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(purposeOf(scope))
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      const opened = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES))
      return JSON.parse(Buffer.concat([opened, decipher.final()]).toString('utf8'))
    } catch (cause) {
      throw new SecretsUnreadable(cause)
    }
  }
}

function purposeOf(scope: ScopeId): Buffer {
  return Buffer.from(`ringfence geofence sync ${scope}`)
}

/**
 * The box of a data folder.
 * @param key the option; if it is empty, a key is drawn once and kept in the folder, readable for its owner alone
 */
export function openSecretBox(folder: string, key: string): SecretBox {
  return new SecretBox(key === '' ? keptKey(join(folder, KEY_FILE)) : key)
}

function keptKey(file: string): string {
  try {
    writeFileSync(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const key = readFileSync(file, 'utf8').trim()
  if (!KEY.test(key)) throw new Error(`${file} is no key: 64 hexadecimal digits are expected.`)
  return key
}
