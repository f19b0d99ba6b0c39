/**
 * Makes the files of the dashboard, unless they are there: `node dashboard/build.ts [STAMP]`. The server runs it at its first start, in the
 * background, and `npm run slim` before it removes what only this needs.
 *
 * The files are made in a folder beside, which takes the place of `dist` when it is complete, so that a server reads a
 * whole build or none.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { sourceStamp, STAMP_FILE } from '../src/dashboard/sourceStamp.ts'

const FOLDER = import.meta.dirname
/** The best quality would take five times as long for three per cent. */
const BROTLI_QUALITY = 9

const stamp = process.argv[2] ?? sourceStamp(FOLDER)
const place = join(FOLDER, 'dist')
const made = join(FOLDER, `dist.${process.pid}`)
if (builtStamp() !== stamp) {
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
 * Moves the files into place. If several processes build the same sources at once, one is enough. What was there is moved away
 * first, because removing it file by file would remove those that another process has just moved into place.
 */
function takePlace(): void {
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
