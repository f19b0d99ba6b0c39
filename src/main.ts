/**
 * The server, and its operator's commands. The settings decide which engine it runs; embedded.ts and distributed.ts
 * compose them.
 */
import { readFileSync } from 'node:fs'
import { helpText } from '../config/help.ts'
import type { OptionError } from '../config/option.ts'
import { loadOptions } from '../config/options.ts'
import packageJson from '../package.json' with { type: 'json' }
import { commandHelp, operate } from './cli/operator.ts'
import { failureSentence } from './runtime/errors.ts'
import { createLogger } from './runtime/logger.ts'
import { makeFilesPrivate } from './runtime/privateFiles.ts'

try {
  await main()
} catch (error) {
  console.error(`ringfence: ${failureSentence(error)}`)
  process.exit((error as Partial<OptionError>).exitCode ?? 1)
}

async function main(): Promise<void> {
  makeFilesPrivate()
  const { options, positionals, show, unknownVariables } = loadOptions({
    argv: process.argv.slice(2),
    env: process.env,
    readFile: (path) => readFileSync(path, 'utf8'),
  })
  if (show === 'help') return console.log(commandHelp(positionals[0]) ?? helpText())
  if (show === 'version') return console.log(packageJson.version)
  if (positionals.length > 0) return process.exit(await operate(positionals, options, console.log))

  const logger = createLogger(options.logLevel)
  // They are not refused, because an orchestrator sets variables for services by their names.
  if (unknownVariables.length > 0)
    logger.warn({ variables: unknownVariables }, 'unknown environment variables; --help lists the known ones')
  // Each engine is only loaded where it runs: an operator's command would take three times as long.
  if (options.engine === 'embedded') {
    const { runEmbedded } = await import('./compose/embedded.ts')
    return runEmbedded(options, logger)
  }
  const { runDistributed } = await import('./compose/distributed.ts')
  return runDistributed(options, logger)
}
