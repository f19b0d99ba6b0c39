/**
 * Is loaded first into every process that the tests start, and into its threads; see nodeOptions.ts. It keeps TypeScript without
 * its types: each file is stripped once, and not once for each of some thousand processes and threads. Node's compile
 * cache only keeps what comes after, and the stripper alone takes a tenth of a second to load.
 *
 * In JavaScript, because it would otherwise load the stripper itself.
 */
'use strict'
const { hash } = require('node:crypto')
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { registerHooks, stripTypeScriptTypes } = require('node:module')
const { join } = require('node:path')
const { fileURLToPath, pathToFileURL } = require('node:url')
const { threadId } = require('node:worker_threads')

const { NODE_COMPILE_CACHE } = process.env
const ROOT = `${pathToFileURL(join(__dirname, '..', '..')).href}/`
const OURS = /^\.\.?\/.*\.ts$/

// A test may also start a Node that has no such hooks.
if (NODE_COMPILE_CACHE && registerHooks) {
  const folder = join(NODE_COMPILE_CACHE, 'stripped')
  registerHooks({
    // A file of ours beside another one is where it says. Node would look for each folder's real path and its package.
    resolve(specifier, context, nextResolve) {
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
      const text = readFileSync(fileURLToPath(url), 'utf8')
      return { format: 'module', source: withoutTypes(folder, text), shortCircuit: true }
    },
  })
}

/**
 * @param {string} folder
 * @param {string} text
 */
function withoutTypes(folder, text) {
  const path = join(folder, hash('sha1', text))
  try {
    return readFileSync(path, 'utf8')
  } catch {
    const stripped = strip(text)
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
