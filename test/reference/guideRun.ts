/**
 * Runs a guide as a reader does: pastes its commands, in their order, into one shell, and compares what comes back with
 * what the guide shows. The shell stands in a folder that looks like the repository and has its own data folder.
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
import { KEYS, Server } from '../kit/server.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Commands of a guide, with what it shows as their answer. */
export interface Step {
  readonly commands: string
  /** The members of the answer that the guide shows. */
  readonly json?: unknown
  /** Lines of output that it shows; `…` stands for anything. */
  readonly text?: string
}

/** The steps of a guide: its fenced blocks of the language `sh`, each with the `json` or `text` right after it. */
export function stepsOf(markdown: string): Step[] {
  const steps: Step[] = []
  let previous: string | undefined
  for (const token of marked.lexer(markdown)) {
    if (token.type !== 'code') continue
    const { lang, text } = token as { lang?: string; text: string }
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
 * A folder in which the commands of guides find what the repository holds; `data` in it is the reader's own, and so is
 * the folder above.
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
 * @param folder of {@link readersFolder}, in which a server listens at `url`
 * @returns a sentence for each difference from what the guide says
 */
export async function runSteps(steps: readonly Step[], folder: string, url: string): Promise<string[]> {
  const out = mkdtempSync(join(tmpdir(), 'ringfence-steps-'))
  try {
    const script = [
      'set -euo pipefail',
      // Answers end without a new line: each is to be told from the next.
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
      NODE_OPTIONS: '',
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

/** Sentences about how an output differs from what a step shows. */
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

/** Where an answer lacks what is shown. Of ids and dates only the form counts; members that are not shown may be there. */
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

/** What the reader does to the first commands: puts in the own keys, and the address where another port is used. */
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

export const stepsOfGuide = (name: string) => stepsOf(readFileSync(new URL(`${name}.md`, GUIDES), 'utf8'))

/** Gives a reader's folder in which a server runs, with the limits that readers meet. */
export async function withServer<T>(run: (folder: string, url: string) => Promise<T>): Promise<T> {
  const folder = readersFolder()
  const env = { RINGFENCE_RATE_LIMITS: 'on', RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.1' }
  const server = await Server.start({ data: folder.data, env, sample: true })
  try {
    return await run(folder.path, server.url)
  } finally {
    await server.dispose()
    folder.remove()
  }
}
