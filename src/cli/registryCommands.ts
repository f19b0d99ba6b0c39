import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseDate } from '../http/schemas.ts'
import type { Clock } from '../runtime/clock.ts'
import { REGISTRY_FILE, RegistryDatabase, RegistryElsewhere } from '../registry/store/database.ts'
import { asAuthor } from '../registry/store/author.ts'
import type { EditLog } from '../registry/store/editLog.ts'
import { RegistryReplica } from '../registry/store/replica.ts'
import { LocalEdits } from '../registry/store/localEdits.ts'
import { AuditedEdits } from '../registry/audit/auditedEdits.ts'
import { AUDIT_ROWS } from '../registry/audit/auditRows.ts'
import { auditedKinds } from '../registry/auditedKinds.ts'
import type { KeyKind, Rotation } from '../registry/projects/keys.ts'
import { KEY_KINDS, Keys, OverlapRefused } from '../registry/projects/keys.ts'
import { PROJECT_ROWS } from '../registry/projects/projectRows.ts'
import { Projects } from '../registry/projects/projects.ts'
import { People } from '../registry/people/people.ts'
import { ACCOUNT_ROWS } from '../registry/people/rows.ts'
import { accountsCommand, ACCOUNTS_USAGE } from './accountCommands.ts'
import { noMoreThan, projectNumber, quoted, WrongCommand } from './commandWords.ts'

export const KEYS_USAGE = `Usage: npm run keys -- <command>

  list                                           the keys of every project, by their last four characters
  rotate <kind> [project number]                 replace a key; all earlier keys of that kind become invalid at once
  rotate <kind> [project number] until <date>    replace a key; the old key stays valid until the date

Kinds: ${KEY_KINDS.join(', ')}. Without a number, the project is 1.
A date is, for example, 2026-12-24 (00:00 UTC) or 2026-12-24T18:00:00Z, at most 90 days from now.
The commands work while the server runs and while it is stopped.`

export const PROJECTS_USAGE = `Usage: npm run projects -- <command>

  list                               every project, its requests of this month and its quota
  create <name>                      make another project, and show its four keys once
  usage <project number>             the project's requests by month (UTC)
  disable <project number>           answer the project's requests with 402
  enable <project number>            answer the project's requests again
  quota <project number> <requests>  the most requests a month; further ones are answered with 402. none: no quota

The commands work while the server runs and while it is stopped.`

/** The registry for the commands: that of the running server, or of a folder without one. */
export interface OperatedRegistry {
  readonly keys: Keys
  readonly projects: Projects
  readonly people: People
}

export type Print = (line: string) => void
/** Prints one line at a time; returns the exit code. */
export type RegistryCommand = (registry: OperatedRegistry, print: Print) => number

/** How many characters a project's name may have. Lists show the name in full. */
const MAX_NAME_LENGTH = 256

const USAGES = { keys: KEYS_USAGE, projects: PROJECTS_USAGE, accounts: ACCOUNTS_USAGE } as const
type Name = keyof typeof USAGES

/** Whether the command is `npm run keys`, `npm run projects` or `npm run accounts`. */
export function isRegistryCommand(name: string | undefined): name is Name {
  return name !== undefined && Object.hasOwn(USAGES, name)
}

/**
 * The command that was typed after `npm run`, or the text that says what is wrong with it and lists the commands.
 * @param site the address of the server for links, without a slash at the end
 */
export function readRegistryCommand(line: readonly string[], site: string): RegistryCommand | string {
  const [name, command, ...rest] = line
  const usageText = isRegistryCommand(name) ? USAGES[name] : PROJECTS_USAGE
  if (command === undefined) return usageText
  try {
    if (name === 'accounts') return accountsCommand(command, rest, site)
    return name === 'keys' ? keysCommand(command, rest) : projectsCommand(command, rest)
  } catch (error) {
    if (error instanceof WrongCommand) return `${error.message}\n\n${usageText}`
    throw error
  }
}

/**
 * Runs a command on the registry of this server. Resolves to the exit code: 0 if it is done, 2 for a wrong command.
 * @throws {ApiError} 503 if it cannot be made durable
 */
export async function runRegistryCommand(
  line: readonly string[],
  registry: OperatedRegistry & Pick<EditLog, 'edit'>,
  site: string,
  print: Print,
): Promise<number> {
  const command = readRegistryCommand(line, site)
  if (typeof command === 'string') {
    print(command)
    return 2
  }
  // The lines are printed when the edit is done, because it may run more than once.
  const author = {
    kind: 'command',
    id: line.slice(0, 2).join(' '),
    label: line.slice(0, 2).join(' '),
  } as const
  const { exit, lines } = await asAuthor({ ...author }, () =>
    registry.edit(() => {
      const said: string[] = []
      return { exit: command(registry, (text) => said.push(text)), lines: said }
    }),
  )
  for (const text of lines) print(text)
  return exit
}

/** The folder has no registry. */
export class NoRegistry extends Error {
  override name = 'NoRegistry'

  constructor(folder: string) {
    super(
      `There is no ${join(folder, REGISTRY_FILE)}: start the server once to create the first project and its keys.`,
    )
  }
}

/**
 * Opens the registry of a folder whose lock this process has, while `work` runs.
 * @throws {NoRegistry} and the errors of {@link RegistryDatabase}
 */
export function withRegistry<T>(folder: string, clock: Clock, work: (registry: OperatedRegistry) => T): T {
  if (!existsSync(join(folder, REGISTRY_FILE))) throw new NoRegistry(folder)
  const database = new RegistryDatabase(folder)
  try {
    if (database.origin !== undefined) throw new RegistryElsewhere(database.file)
    const replica = new RegistryReplica(database, [...PROJECT_ROWS, ...ACCOUNT_ROWS, AUDIT_ROWS])
    const edits = new AuditedEdits(new LocalEdits(replica), replica, auditedKinds(replica), clock)
    const troubled = (error: unknown): never => {
      throw error
    }
    const projects = new Projects(replica, edits, clock, troubled)
    try {
      const keys = new Keys(replica, edits, clock)
      const people = new People({ replica, edits, clock, keys, troubled })
      people.load()
      return work({ keys, projects, people })
    } finally {
      projects.close()
    }
  } finally {
    database.close()
  }
}

// The commands of `npm run keys`.

function keysCommand(command: string, rest: readonly string[]): RegistryCommand {
  switch (command) {
    case 'list':
      noMoreThan(0, command, rest)
      return listKeys
    case 'rotate': {
      const { words, until } = untilOf(command, rest)
      noMoreThan(2, command, words)
      const kind = KEY_KINDS.find((one) => one === words[0])
      if (kind === undefined)
        throw new WrongCommand(`rotate needs the kind of a key, not ${quoted(words[0])}.`)
      const project = words[1] === undefined ? 1 : projectNumber(command, words[1])
      return ({ keys }, print) => rotate(keys, print, project, kind, until)
    }
    default:
      throw new WrongCommand(`Unknown command ${quoted(command)}.`)
  }
}

function listKeys({ keys }: OperatedRegistry, print: Print): number {
  const projects = keys.projects()
  if (projects.length === 0) print(NO_PROJECT)
  for (const { id, name } of projects) {
    print(`Project ${id}: ${name}`)
    for (const { kind, lastFour, createdAt, validUntil } of keys.list(id)) {
      const end = validUntil === null ? '' : `  replaced, valid until ${new Date(validUntil).toISOString()}`
      print(`  ${kind.padEnd(15)}  …${lastFour}  since ${new Date(createdAt).toISOString()}${end}`)
    }
  }
  return 0
}

const NO_PROJECT = 'There is no project yet. The first start of the server creates one and shows its keys.'

function rotate(keys: Keys, print: Print, project: number, kind: KeyKind, until: number | undefined): number {
  let rotated: Rotation | undefined
  try {
    rotated = keys.rotate(project, kind, until)
  } catch (error) {
    if (!(error instanceof OverlapRefused)) throw error
    print(`Nothing was changed. ${error.message}`)
    return 2
  }
  if (rotated === undefined) return noProject(project, print)
  print(`The new ${kind} key of project ${project}, shown only now:`)
  print(`  ${rotated.key}`)
  print(
    until === undefined
      ? 'The old key is no longer valid.'
      : `The old key stays valid until ${new Date(until).toISOString()}.`,
  )
  return 0
}

function createProject(keys: Keys, print: Print, name: string): number {
  const namesake = keys.projects().find((project) => project.name === name)
  if (namesake !== undefined) {
    print(`Project ${namesake.id} has the name ${name} already. Choose another name.`)
    return 2
  }
  const created = keys.createProject(name)
  print(`Project ${created.project.id}: ${name}. Its keys, shown only now:`)
  for (const kind of KEY_KINDS) print(`  ${kind.padEnd(15)}  ${created.keys[kind]}`)
  return 0
}

// The commands of `npm run projects`.

function projectsCommand(command: string, rest: readonly string[]): RegistryCommand {
  switch (command) {
    case 'list':
      noMoreThan(0, command, rest)
      return listProjects
    case 'create': {
      if (rest.length > 1) throw new WrongCommand(`Put the name into quotes: "${rest.join(' ')}".`)
      const name = rest[0]?.trim()
      if (!name) throw new WrongCommand('create needs a name.')
      if (name.length > MAX_NAME_LENGTH || /\p{Cc}/u.test(name))
        throw new WrongCommand(`A name has at most ${MAX_NAME_LENGTH} characters, on one line.`)
      return ({ keys }, print) => createProject(keys, print, name)
    }
    case 'usage': {
      noMoreThan(1, command, rest)
      const project = projectNumber(command, rest[0])
      return ({ projects }, print) => usage(projects, print, project)
    }
    case 'disable':
    case 'enable': {
      noMoreThan(1, command, rest)
      const project = projectNumber(command, rest[0])
      const disabled = command === 'disable'
      const state = disabled ? 'disabled: its requests are answered with 402' : 'enabled'
      return ({ projects }, print) =>
        projects.setDisabled(project, disabled)
          ? told(print, `Project ${project} is ${state}.`)
          : noProject(project, print)
    }
    case 'quota': {
      noMoreThan(2, command, rest)
      const project = projectNumber(command, rest[0])
      const requests = rest[1] ?? ''
      if (requests !== 'none' && !/^\d{1,15}$/.test(requests)) {
        throw new WrongCommand(`quota needs a whole number of requests, or none, not ${quoted(rest[1])}.`)
      }
      const quota = requests === 'none' ? null : Number(requests)
      return ({ projects }, print) =>
        projects.setQuota(project, quota)
          ? told(print, `Project ${project} may make ${quotaText(quota)}.`)
          : noProject(project, print)
    }
    default:
      throw new WrongCommand(`Unknown command ${quoted(command)}.`)
  }
}

/**
 * The words before "until", and the date after it, in epoch milliseconds.
 * @throws {WrongCommand}
 */
function untilOf(command: string, rest: readonly string[]): { words: readonly string[]; until?: number } {
  const place = rest.indexOf('until')
  if (place < 0) return { words: rest }
  const [date, ...more] = rest.slice(place + 1)
  noMoreThan(0, command, more)
  try {
    return { words: rest.slice(0, place), until: parseDate('until', date ?? '') }
  } catch {
    throw new WrongCommand(`${command} needs a date such as 2026-12-24 after "until", not ${quoted(date)}.`)
  }
}

function listProjects({ projects }: OperatedRegistry, print: Print): number {
  const list = projects.list()
  if (list.length === 0) print(NO_PROJECT)
  for (const { id, name, disabled, quota, requests } of list) {
    print(`Project ${id}: ${name}${disabled ? ' (disabled)' : ''}`)
    print(`  ${requests} requests this month, ${quota === null ? 'without a quota' : `of ${quota} a month`}`)
  }
  return 0
}

function usage(projects: Projects, print: Print, project: number): number {
  if (!projects.list().some(({ id }) => id === project)) return noProject(project, print)
  const months = projects.usage(project)
  if (months.length === 0) print(`Project ${project} has not made any requests yet.`)
  for (const { month, requests } of months) print(`${month}  ${requests}`)
  return 0
}

function quotaText(quota: number | null): string {
  return quota === null
    ? 'any number of requests'
    : `${quota} ${quota === 1 ? 'request' : 'requests'} a month`
}

function told(print: Print, sentence: string): number {
  print(sentence)
  return 0
}

function noProject(project: number, print: Print): number {
  print(`There is no project ${project}.`)
  return 2
}
