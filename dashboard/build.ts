/**
 * Makes the files of the dashboard, unless they are there: `node dashboard/build.ts [STAMP]`. The server runs it at its first start, in the
 * background, and `npm run slim` before it removes what only this needs.
 *
 * The files are made in a folder beside, which takes the place of `dist` when it is complete, so that a server reads a
 * whole build or none.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { sourceStamp, STAMP_FILE } from '../src/dashboard/sourceStamp.ts'

const FOLDER = import.meta.dirname
/** The best quality would take five times as long for three per cent. */
const BROTLI_QUALITY = 9

/** A build takes seconds. A folder that is older was left by one that was killed. */
const ABANDONED_MS = 3_600_000

const stamp = process.argv[2] ?? sourceStamp(FOLDER)
const place = join(FOLDER, 'dist')
const made = join(FOLDER, `dist.${process.pid}`)
if (builtStamp() !== stamp) {
  removeAbandoned()
  try {
    await make()
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

async function make(): Promise<void> {
  // Loaded only if needed: it takes longer than to find out that everything is there.
  const { build } = await import('vite')
  await build({
    configFile: join(FOLDER, 'vite.config.ts'),
    root: FOLDER,
    logLevel: 'warn',
    build: { outDir: made },
  })
  for (const name of readdirSync(made, { recursive: true, encoding: 'utf8' }))
    if (/\.(?:js|css|svg|html)$/.test(name)) compress(join(made, name))
  writeFileSync(join(made, STAMP_FILE), stamp)
  takePlace()
}

/**
 * Moves the files into place. If several processes build the same sources at once, the first one is enough: servers read its
 * files already. What was there is moved away first, because removing it file by file would remove those that another process
 * has just moved into place.
 */
function takePlace(): void {
  if (builtStamp() === stamp) return
  const before = `${made}-before`
  if (existsSync(place)) moveAway(before)
  try {
    renameSync(made, place)
  } catch (error) {
    if (builtStamp() !== stamp) throw error
  } finally {
    rmSync(before, { recursive: true, force: true })
  }
}

function moveAway(to: string): void {
  try {
    renameSync(place, to)
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** Removes what builds that were killed have left. */
function removeAbandoned(): void {
  for (const name of readdirSync(FOLDER)) {
    if (!/^dist\.\d+/.test(name)) continue
    const path = join(FOLDER, name)
    // Another process may remove it at the same time.
    const madeAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity
    if (Date.now() - madeAt > ABANDONED_MS) rmSync(path, { recursive: true, force: true })
  }
}

function builtStamp(): string | undefined {
  const path = join(place, STAMP_FILE)
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

function compress(path: string): void {
  const content = readFileSync(path)
  writeFileSync(
    `${path}.br`,
    brotliCompressSync(content, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
      },
    }),
  )
  writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }))
}
