/**
 * Runs a program of this repository, `node install/run.cjs FILE …`, where this Node can; else says in a sentence what to do. In
 * JavaScript of old, so that a Node which cannot read TypeScript can read it.
 */
'use strict'
const { existsSync } = require('node:fs')
const { join, resolve } = require('node:path')
const { pathToFileURL } = require('node:url')

const ROOT = join(__dirname, '..')
/** The major version for which native packages carry binaries, and its first release that runs TypeScript. */
const MAJOR = 22
const MINOR = 18

/**
 * What prevents this Node from running the program, as a sentence.
 * @returns {string | undefined}
 */
function obstacle() {
  const packages = join(ROOT, 'node_modules')
  const { platform, arch, versions } = process
  if (!existsSync(join(packages, 'uWebSockets.js')))
    return 'The packages are not installed: run `npm install`.'
  const [major, minor] = versions.node.split('.').map(Number)
  if (major !== MAJOR || minor < MINOR) {
    const need = `Ringfence needs Node ${MAJOR}.${MINOR} or a later ${MAJOR}, and this is Node ${versions.node}`
    return existsSync(join(packages, 'node', 'bin', 'node'))
      ? `${need}: start it with \`npm start\`, which takes the Node ${MAJOR} in node_modules.`
      : `${need}: run \`npm rebuild node --ignore-scripts=false\`, which brings it along, or install it.`
  }
  const binary = `uws_${platform}_${arch}_${versions.modules}.node`
  if (existsSync(join(packages, 'uWebSockets.js', 'dist', 'bin', binary))) return undefined
  return (
    `node_modules has nothing for ${platform} on ${arch}: run \`npm install\` if it was slimmed on another machine; ` +
    'Ringfence is for Linux with glibc and for macOS, each on x64 and arm64.'
  )
}

const sentence = obstacle()
if (sentence === undefined) {
  process.argv.splice(1, 1)
  process.argv[1] = resolve(ROOT, process.argv[1])
  import(pathToFileURL(process.argv[1]).href)
} else {
  console.error(sentence)
  process.exitCode = 1
}
