/**
 * Is loaded first into every process that the tests start, and into its threads; see nodeOptions.ts. It keeps TypeScript without
 * its types: each file is stripped once, and not once for each of some thousand processes and threads. Node's compile
 * cache only keeps what comes after, and the stripper alone takes a tenth of a second to load.
 *
 * In JavaScript, because it would otherwise load the stripper itself.
 */
'use strict'
const { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } = require('node:fs')
const { registerHooks, stripTypeScriptTypes } = require('node:module')
const { join } = require('node:path')
const { fileURLToPath, pathToFileURL } = require('node:url')
const { threadId } = require('node:worker_threads')

const { NODE_COMPILE_CACHE } = process.env
const ROOT_FOLDER = join(__dirname, '..', '..', '/')
const ROOT = pathToFileURL(ROOT_FOLDER).href
const OURS = /^\.\.?\/.*\.ts$/

// A test may also start a Node that has no such hooks.
if (NODE_COMPILE_CACHE && registerHooks) {
  const folder = join(NODE_COMPILE_CACHE, 'stripped')
  const bundled = bundledTypebox()
  registerHooks({
    // A file of ours beside another one is where it says. Node would look for each folder's real path and its package.
    resolve(specifier, context, nextResolve) {
      const bundle = bundled[specifier]
      if (bundle !== undefined) return { url: bundle, format: 'module', shortCircuit: true }
      if (
        !OURS.test(specifier) ||
        !context.parentURL?.startsWith(ROOT) ||
        context.parentURL.includes('/node_modules/')
      )
        return nextResolve(specifier, context)
      return {
        url: new URL(specifier, context.parentURL).href,
        format: 'module-typescript',
        shortCircuit: true,
      }
    },
    load(url, context, nextLoad) {
      if (context.format !== 'module-typescript' || !url.startsWith('file:')) return nextLoad(url, context)
      return { format: 'module', source: withoutTypes(folder, fileURLToPath(url)), shortCircuit: true }
    },
  })
}

/**
 * The files that bundledTypebox.ts has made of the installed version, by the names of the modules. They belong together: a process
 * takes both or none.
 * @returns {Readonly<Record<string, string>>}
 */
function bundledTypebox() {
  /** @type {string} */
  let version
  try {
    version = JSON.parse(readFileSync(join(ROOT_FOLDER, 'node_modules/typebox/package.json'), 'utf8')).version
  } catch {
    return {}
  }
  const made = join(ROOT_FOLDER, 'node_modules/.cache/ringfence-typebox', version)
  if (!existsSync(made)) return {}
  const urlOf = (/** @type {string} */ name) => pathToFileURL(join(made, `${name}.js`)).href
  return { typebox: urlOf('typebox'), 'typebox/schema': urlOf('schema') }
}

/**
 * What was stripped is found by the path, size and time of the file, which need not be read then.
 * @param {string} folder
 * @param {string} file
 */
function withoutTypes(folder, file) {
  const { size, mtimeMs } = statSync(file)
  const name = file.startsWith(ROOT_FOLDER) ? file.slice(ROOT_FOLDER.length) : file
  const path = join(folder, `${name.replaceAll('/', '+')}.${size}.${mtimeMs}`)
  try {
    return readFileSync(path, 'utf8')
  } catch {
    const stripped = strip(readFileSync(file, 'utf8'))
    keep(folder, path, stripped)
    return stripped
  }
}

/**
 * As Node does it, which for its own modules does not warn either.
 * @param {string} text
 */
function strip(text) {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(text)
  } finally {
    process.emitWarning = emitWarning
  }
}

/**
 * Whole or not at all, because other processes read it.
 * @param {string} folder
 * @param {string} path
 * @param {string} stripped
 */
function keep(folder, path, stripped) {
  const own = `${path}.${process.pid}.${threadId}`
  try {
    mkdirSync(folder, { recursive: true })
    writeFileSync(own, stripped)
    renameSync(own, path)
  } catch {
    // The next process strips it again.
  }
}
