/** What the tests of deploy/ have in common: reading its files, and the tools that check them if they are installed. */
import { execFile } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Ajv, type ErrorObject } from 'ajv'
import { parse, parseAllDocuments } from 'yaml'

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

// oxlint-disable-next-line typescript/no-explicit-any -- configuration files of every shape
export type Document = any

export function text(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

export function yaml(path: string): Document {
  return parse(text(path), { merge: true })
}

/** The objects of a file that contains several. */
export function yamlDocuments(path: string): Document[] {
  return parseAllDocuments(text(path)).map((document) => document.toJS())
}

/** Checks documents against a JSON schema. Returns the problems of a document, one line each. */
export function schemaProblems(schema: Document): (document: unknown) => string[] {
  // Formats such as `duration` are specific to these tools.
  const validate = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(schema)
  return (document) => {
    validate(document)
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }: ErrorObject) =>
        `${instancePath} ${message} ${JSON.stringify(params)}`,
    )
  }
}

/**
 * Tools that cannot be installed with npm are used if they are on the PATH.
 * @returns the reason why a test is skipped, which is printed; false if it is not skipped
 */
export function skipWithoutTool(name: string): string | false {
  const isThere = (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
  if (isThere) return false
  console.error(`SKIPPED: ${name} is not on the PATH`)
  return `${name} is not on the PATH`
}

/**
 * Runs a program in the repository.
 * @returns what it printed
 * @throws Error with everything that it printed, if it fails
 */
export async function run(
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const { cwd = ROOT, env = {} } = options
  try {
    // NODE_OPTIONS contains tap's hooks for child processes, which mean nothing to these tools.
    const environment = { ...process.env, NODE_OPTIONS: '', ...env }
    const { stdout } = await promisify(execFile)(command, args, {
      cwd,
      env: environment,
      maxBuffer: 1 << 26,
    })
    return stdout
  } catch (cause) {
    const { stdout, stderr } = cause as { stdout?: string; stderr?: string }
    throw new Error(`${command} ${args.join(' ')}\n${stdout ?? ''}${stderr ?? ''}`, { cause })
  }
}
