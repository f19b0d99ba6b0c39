/**
 * Runs a guide as a reader would: it pastes its commands in order into one shell, and compares the output with what
 * the guide shows. The shell runs in a folder that looks like the repository and has its own data folder.
 */
import { execFile } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { marked } from 'marked'
import { NODE_OPTIONS } from '../kit/nodeOptions.ts'
import { KEYS, Server } from '../kit/server.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Commands of a guide, with the answer that it shows. */
export interface Step {
  readonly commands: string
  /** The members of the answer that the guide shows. */
  readonly json?: unknown
  /** The lines of output that the guide shows; `…` stands for any text. */
  readonly text?: string
}

/**
 * The steps of a guide: its code blocks of the language `sh`, each with the `json` or `text` block that follows it.
 * @param hasTile38 whether those marked `sh tile38` belong to them
 */
export function stepsOf(markdown: string, hasTile38 = false): Step[] {
  const steps: Step[] = []
  let previous: string | undefined
  for (const token of marked.lexer(markdown)) {
    if (token.type !== 'code') continue
    const { lang: mark, text } = token as { lang?: string; text: string }
    const lang = hasTile38 && mark === 'sh tile38' ? 'sh' : mark
    if (lang === 'sh') steps.push({ commands: text })
    else if (previous === 'sh' && (lang === 'json' || lang === 'text')) {
      const shown = lang === 'json' ? { json: JSON.parse(text) as unknown } : { text }
      steps.push({ ...steps.pop()!, ...shown })
    }
    previous = lang
  }
  return steps
}

/**
 * A folder in which the commands of guides find the files of the repository. `data` in it belongs to the reader, and
 * so does the folder above.
 */
function readersFolder(): { readonly path: string; readonly data: string; remove(): void } {
  const above = mkdtempSync(join(tmpdir(), 'ringfence-guide-'))
  const path = join(above, 'ringfence')
  mkdirSync(path)
  for (const name of readdirSync(ROOT))
    if (!['data', '.git', '.tap'].includes(name)) symlinkSync(join(ROOT, name), join(path, name))
  const data = join(path, 'data')
  mkdirSync(data)
  return { path, data, remove: () => rmSync(above, { recursive: true, force: true }) }
}

/**
 * Runs the steps.
 * @param folder from {@link readersFolder}, in which a server listens at `url`
 * @returns a sentence for each difference from the guide
 */
export async function runSteps(steps: readonly Step[], folder: string, url: string): Promise<string[]> {
  const out = mkdtempSync(join(tmpdir(), 'ringfence-steps-'))
  try {
    const script = [
      'set -euo pipefail',
      // Answers end without a line break, which is needed to separate them.
      'curl() { command curl "$@"; printf "\\n"; }',
      ...steps.flatMap(({ commands }, i) => [
        `{\n${withOwnKeys(commands, url)}\n} >"$OUT/${i}.out" 2>"$OUT/${i}.err"`,
        `touch "$OUT/${i}.done"`,
      ]),
    ].join('\n')
    const file = join(out, 'script.sh')
    writeFileSync(file, script)
    const env = {
      ...process.env,
      OUT: out,
      NODE_OPTIONS,
      PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`,
      RINGFENCE_PORT: new URL(url).port,
    }
    await promisify(execFile)('bash', [file], { cwd: folder, env }).catch(() => undefined)
    const problems: string[] = []
    for (const [i, step] of steps.entries()) {
      const read = (name: string) => readIfThere(join(out, `${i}.${name}`))
      const output = read('out') ?? ''
      if (read('done') === undefined) {
        problems.push(`${step.commands}\n→ failed: ${output}${read('err') ?? ''}`)
        break
      }
      for (const problem of problemsOf(step, output))
        problems.push(`${step.commands}\n→ ${problem}\n${output}`)
    }
    return problems
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
}

/** Sentences about the differences between an output and what a step shows. */
function problemsOf({ json, text }: Step, output: string): string[] {
  const found: string[] = []
  const answers = output.split('\n').flatMap((line) => {
    try {
      const answer = JSON.parse(line) as { meta?: { code: number } }
      return typeof answer === 'object' ? [answer] : []
    } catch {
      return []
    }
  })
  const last = answers.at(-1)
  const expected = (json as { meta?: { code?: number } } | undefined)?.meta?.code ?? 200
  for (const answer of answers) {
    const code = answer.meta?.code ?? 200
    if (code !== (answer === last ? expected : 200))
      found.push(`answered ${code}: ${JSON.stringify(answer.meta)}`)
  }
  if (json !== undefined) {
    const difference = last === undefined ? 'there is no answer' : differenceOf(json, last, 'answer')
    if (difference !== undefined) found.push(difference)
  }
  for (const line of text?.split('\n') ?? []) {
    const pattern = line
      .trim()
      .split('…')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')
    if (!new RegExp(pattern).test(output)) found.push(`the output lacks "${line.trim()}"`)
  }
  return found
}

const ID = /^[0-9a-f]{24}$/
const DATE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/**
 * The first part that an answer lacks compared with the guide. Of ids and dates only the form is compared; additional
 * members are allowed.
 */
function differenceOf(shown: unknown, actual: unknown, path: string): string | undefined {
  if (Array.isArray(shown)) {
    if (!Array.isArray(actual) || actual.length !== shown.length)
      return `${path} is ${JSON.stringify(actual)}, not a list of ${shown.length}`
    return firstOf(shown.map((item, i) => differenceOf(item, actual[i], `${path}[${i}]`)))
  }
  if (typeof shown === 'object' && shown !== null) {
    if (typeof actual !== 'object' || actual === null) return `${path} is ${JSON.stringify(actual)}`
    const members = actual as Record<string, unknown>
    return firstOf(
      Object.entries(shown).map(([name, value]) => differenceOf(value, members[name], `${path}.${name}`)),
    )
  }
  const sameForm = [ID, DATE].some((form) => form.test(String(shown)) && form.test(String(actual)))
  return shown === actual || sameForm
    ? undefined
    : `${path} is ${JSON.stringify(actual)}, not ${JSON.stringify(shown)}`
}

function firstOf(differences: readonly (string | undefined)[]): string | undefined {
  return differences.find((difference) => difference !== undefined)
}

/**
 * The changes that a reader makes in the first commands: the reader's own keys, and the address if another port is
 * used.
 */
function withOwnKeys(commands: string, url: string): string {
  return commands
    .replace(/^URL=http:\S+$/m, `URL=${url}`)
    .replace(/^PK=prj_test_pk_\S+$/m, `PK=${KEYS.testPublishable}`)
    .replace(/^SK=prj_test_sk_\S+$/m, `SK=${KEYS.testSecret}`)
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

export const GUIDES = new URL('../../docs/guides/', import.meta.url)

export const stepsOfGuide = (name: string, hasTile38 = false) =>
  stepsOf(readFileSync(new URL(`${name}.md`, GUIDES), 'utf8'), hasTile38)

/**
 * Runs a server in a reader's folder, with the limits that readers have.
 * @param more environment variables of the server
 * @param sample whether the sample is there before the start
 */
export async function withServer<T>(
  run: (folder: string, url: string) => Promise<T>,
  more: Readonly<Record<string, string>> = {},
  sample = true,
): Promise<T> {
  const folder = readersFolder()
  const env = {
    RINGFENCE_RATE_LIMITS: 'on',
    RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.1',
    RINGFENCE_SYNC_PRIVATE_ADDRESSES: '127.0.0.1',
    ...more,
  }
  const server = await Server.start({ data: folder.data, env, sample })
  try {
    return await run(folder.path, server.url)
  } finally {
    await server.dispose()
    folder.remove()
  }
}
