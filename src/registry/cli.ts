import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../runtime/clock.ts'
import { REGISTRY_FILE, RegistryDatabase } from './database.ts'
import type { KeyKind } from './keys.ts'
import { KEY_KINDS, Keys } from './keys.ts'
import { Projects } from './projects.ts'

export const KEYS_USAGE = `Usage: npm run keys -- <command>

  list                            every project's keys, by their last four characters
  rotate <kind> [project number]  replace a key; the old one is invalid at once
  create-project <name>           another project, with four keys of its own

Kinds: ${KEY_KINDS.join(', ')}.
It works while the server runs and while it is stopped.`

export const PROJECTS_USAGE = `Usage: npm run projects -- <command>

  list                              every project, its requests of this month and its quota
  usage <project number>            its requests by month (UTC)
  disable <project number>          answer its requests with 402
  enable <project number>           and no longer
  quota <project number> <requests> as many a month, what is more is answered with 402; none takes the quota away

It works while the server runs and while it is stopped.`

/** What the commands work on: the registry of the running server, or that of a folder without one. */
export interface OperatedRegistry {
  readonly keys: Keys
  readonly projects: Projects
}

type Print = (line: string) => void
/** Prints one line at a time; returns the exit code. */
type RegistryCommand = (registry: OperatedRegistry, print: Print) => number

/** Whether it is `npm run keys` or `npm run projects`. */
export function isRegistryCommand(name: string | undefined): name is 'keys' | 'projects' {
  return name === 'keys' || name === 'projects'
}

/** The command that was typed after `npm run`, or the text that says which there are. */
export function readRegistryCommand(line: readonly string[]): RegistryCommand | string {
  const [name, command, ...rest] = line
  return name === 'keys'
    ? (keysCommand(command, rest) ?? KEYS_USAGE)
    : (projectsCommand(command, rest) ?? PROJECTS_USAGE)
}

/** Runs a command; returns the exit code: 0 done, 2 a wrong command. */
export function runRegistryCommand(
  line: readonly string[],
  registry: OperatedRegistry,
  print: Print,
): number {
  const command = readRegistryCommand(line)
  if (typeof command !== 'string') return command(registry, print)
  print(command)
  return 2
}

/** There is no registry to work on. */
export class NoRegistry extends Error {
  override name = 'NoRegistry'

  constructor(folder: string) {
    super(
      `There is no ${join(folder, REGISTRY_FILE)}: start the server once, it makes the first project and its keys.`,
    )
  }
}

/**
 * Opens the registry of a folder whose lock this process has, for as long as `work` takes.
 * @throws {NoRegistry} and what {@link RegistryDatabase} throws
 */
export function withRegistry<T>(folder: string, clock: Clock, work: (registry: OperatedRegistry) => T): T {
  if (!existsSync(join(folder, REGISTRY_FILE))) throw new NoRegistry(folder)
  const database = new RegistryDatabase(folder)
  try {
    const projects = new Projects(database, clock, (error) => {
      throw error
    })
    try {
      return work({ keys: new Keys(database, clock), projects })
    } finally {
      projects.close()
    }
  } finally {
    database.close()
  }
}

// Keys

function keysCommand(command: string | undefined, rest: readonly string[]): RegistryCommand | undefined {
  if (command === 'list' && rest.length === 0) return listKeys
  if (command === 'rotate' && (rest.length === 1 || rest.length === 2)) {
    const kind = KEY_KINDS.find((one) => one === rest[0])
    const project = Number(rest[1] ?? '1')
    if (kind === undefined || !Number.isInteger(project)) return undefined
    return ({ keys }, print) => rotate(keys, print, project, kind)
  }
  const name = rest[0]?.trim()
  if (command === 'create-project' && rest.length === 1 && name) {
    return ({ keys }, print) => createProject(keys, print, name)
  }
  return undefined
}

function listKeys({ keys }: OperatedRegistry, print: Print): number {
  const projects = keys.projects()
  if (projects.length === 0) print(NO_PROJECT)
  for (const { id, name } of projects) {
    print(`Project ${id}: ${name}`)
    for (const { kind, lastFour, createdAt } of keys.list(id)) {
      print(`  ${kind.padEnd(15)}  …${lastFour}  since ${new Date(createdAt).toISOString()}`)
    }
  }
  return 0
}

const NO_PROJECT = 'There is no project yet: the first start that listens makes one and shows its keys.'

function rotate(keys: Keys, print: Print, project: number, kind: KeyKind): number {
  const rotated = keys.rotate(project, kind)
  if (rotated === undefined) return noProject(project, print)
  print(`The new ${kind} key of project ${project}, shown only now:`)
  print(`  ${rotated.key}`)
  return 0
}

function createProject(keys: Keys, print: Print, name: string): number {
  const created = keys.createProject(name)
  print(`Project ${created.project.id}: ${name}. Its keys, shown only now:`)
  for (const kind of KEY_KINDS) print(`  ${kind.padEnd(15)}  ${created.keys[kind]}`)
  return 0
}

// Projects

function projectsCommand(command: string | undefined, rest: readonly string[]): RegistryCommand | undefined {
  if (command === 'list' && rest.length === 0) return listProjects
  const [number = '', requests = ''] = rest
  if (!/^\d+$/.test(number)) return undefined
  const project = Number(number)
  if (command === 'usage' && rest.length === 1) {
    return ({ projects }, print) => usage(projects, print, project)
  }
  if ((command === 'disable' || command === 'enable') && rest.length === 1) {
    const disabled = command === 'disable'
    return ({ projects }, print) =>
      projects.setDisabled(project, disabled)
        ? told(
            print,
            `Project ${project} is ${disabled ? 'disabled: its requests are answered with 402' : 'enabled'}.`,
          )
        : noProject(project, print)
  }
  const quota = requests === 'none' ? null : Number(requests)
  if (command === 'quota' && rest.length === 2 && (quota === null || /^\d{1,15}$/.test(requests))) {
    return ({ projects }, print) =>
      projects.setQuota(project, quota)
        ? told(print, `Project ${project} may make ${quotaText(quota)}.`)
        : noProject(project, print)
  }
  return undefined
}

function listProjects({ projects }: OperatedRegistry, print: Print): number {
  const list = projects.list()
  if (list.length === 0) print(NO_PROJECT)
  for (const { id, name, disabled, quota, requests } of list) {
    print(`Project ${id}: ${name}${disabled ? ' (disabled)' : ''}`)
    print(`  ${requests} requests this month, of ${quotaText(quota)}`)
  }
  return 0
}

function usage(projects: Projects, print: Print, project: number): number {
  if (!projects.list().some(({ id }) => id === project)) return noProject(project, print)
  for (const { month, requests } of projects.usage(project)) print(`${month}  ${requests}`)
  return 0
}

function quotaText(quota: number | null): string {
  return quota === null ? 'as many as it likes' : `${quota} a month`
}

function told(print: Print, sentence: string): number {
  print(sentence)
  return 0
}

function noProject(project: number, print: Print): number {
  print(`There is no project ${project}.`)
  return 2
}
