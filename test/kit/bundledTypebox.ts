/**
 * Makes one file of the few hundred modules of typebox, which almost every process of the tests loads: they take a sixth of
 * a server's start. stripped.cjs gives it to them.
 */
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const { resolve } = createRequire(import.meta.url)
/** Also in stripped.cjs. */
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/ringfence-typebox/', import.meta.url))

/** Makes it, unless it is there. Without the bundler, which is optional, nothing is made. */
export async function bundleTypebox(): Promise<void> {
  const entry = { typebox: resolve('typebox'), schema: resolve('typebox/schema') }
  const packageFile = join(dirname(entry.typebox), '..', 'package.json')
  const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
  const folder = join(FOLDER, version)
  if (existsSync(folder)) return
  const vite = await import('vite').catch(() => undefined)
  if (vite === undefined) return
  const own = `${folder}.${process.pid}`
  try {
    await vite.build({
      configFile: false,
      root: import.meta.dirname,
      publicDir: false,
      logLevel: 'silent',
      build: { lib: { entry, formats: ['es'] }, outDir: own, minify: false, target: 'esnext' },
    })
    renameSync(own, folder)
  } catch (error) {
    // Another process was faster.
    if (!existsSync(folder)) throw error
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
}
