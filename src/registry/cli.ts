import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../runtime/clock.ts'
import {
  REGISTRY_FILE,
  RegistryDamaged,
  RegistryDatabase,
  RegistryLocked,
  RegistryTooNew,
} from './database.ts'
import type { KeyKind, KeySet } from './keys.ts'
import { KEY_KINDS, Keys } from './keys.ts'

export const KEYS_USAGE = `Usage: npm run keys -- <command> [options]

  list                            every project's keys, by their last four characters
  rotate <kind> [project number]  replace a key; the old one is invalid at once
  create-project <name>           another project, with four keys of its own

Kinds: ${KEY_KINDS.join(', ')}. The server must be stopped; while it runs,
POST /v1/keys/<publishable or secret>/rotate with a secret key does the same.`

/**
 * The command `npm run keys -- …` on a data folder that no server runs on.
 * @param print takes one line of output, errors too
 * @returns the exit code: 0 done, 1 the registry cannot be used, 2 a wrong command
 */
export function keysCommand(
  args: readonly string[],
  folder: string,
  clock: Clock,
  print: (line: string) => void,
): number {
  const [command, ...rest] = args
  const run = commandOf(command, rest)
  if (run === undefined) {
    print(KEYS_USAGE)
    return 2
  }
  const file = join(folder, REGISTRY_FILE)
  if (!existsSync(file)) {
    print(`There is no ${file}: start the server once, it makes the first project and its keys.`)
    return 1
  }
  let database: RegistryDatabase | undefined
  try {
    database = new RegistryDatabase(folder)
    return run(new Keys(database, clock), print)
  } catch (error) {
    if (
      !(
        error instanceof RegistryLocked ||
        error instanceof RegistryDamaged ||
        error instanceof RegistryTooNew
      )
    ) {
      throw error
    }
    print(error.message)
    return 1
  } finally {
    database?.close()
  }
}

type Command = (keys: Keys, print: (line: string) => void) => number

function commandOf(command: string | undefined, rest: readonly string[]): Command | undefined {
  if (command === 'list' && rest.length === 0) return list
  if (command === 'rotate' && (rest.length === 1 || rest.length === 2)) {
    const kind = KEY_KINDS.find((one) => one === rest[0])
    const project = Number(rest[1] ?? '1')
    if (kind === undefined || !Number.isInteger(project)) return undefined
    return (keys, print) => rotate(keys, print, project, kind)
  }
  const name = rest[0]?.trim()
  if (command === 'create-project' && rest.length === 1 && name) {
    return (keys, print) => createProject(keys, print, name)
  }
  return undefined
}

function list(keys: Keys, print: (line: string) => void): number {
  for (const { id, name } of keys.projects()) {
    print(`Project ${id}: ${name}`)
    for (const { kind, lastFour, createdAt } of keys.list(id)) {
      print(`  ${kind.padEnd(15)}  …${lastFour}  since ${new Date(createdAt).toISOString()}`)
    }
  }
  return 0
}

function rotate(keys: Keys, print: (line: string) => void, project: number, kind: KeyKind): number {
  const rotated = keys.rotate(project, kind)
  if (rotated === undefined) {
    print(`There is no project ${project}.`)
    return 2
  }
  print(`The new ${kind} key of project ${project}, shown only now:`)
  print(`  ${rotated.key}`)
  return 0
}

function createProject(keys: Keys, print: (line: string) => void, name: string): number {
  const created = keys.createProject(name)
  print(`Project ${created.project.id}: ${name}. Its keys, shown only now:`)
  for (const line of keyLines(created.keys)) print(line)
  return 0
}

/** One line for each key of a set. */
function keyLines(keys: KeySet): string[] {
  return KEY_KINDS.map((kind) => `  ${kind.padEnd(15)}  ${keys[kind]}`)
}
