/** Runs `npm run <command> -- …` as a separate process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { NODE_OPTIONS } from '../kit/nodeOptions.ts'

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export interface Ended {
  readonly code: number | null
  /** What it wrote to stdout and stderr. */
  readonly output: string
}

/** @param prefix a program that runs the command, such as `['prlimit', '--fsize=1000']` */
export async function command(args: readonly string[], prefix: readonly string[] = []): Promise<Ended> {
  const [program, ...rest] = [
    ...prefix,
    'env',
    `NODE_OPTIONS=${NODE_OPTIONS}`,
    process.execPath,
    MAIN,
    ...args,
  ]
  const child = spawn(program!, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  await once(child, 'close')
  return { code: child.exitCode, output }
}
