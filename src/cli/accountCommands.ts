import type { People } from '../registry/people/people.ts'
import type { Account } from '../registry/people/rows.ts'
import { invitationUrl } from '../accounts/invitationUrl.ts'
import { emailOf } from '../accounts/schemas.ts'
import { ROLES, type Role } from '../model/role.ts'
import { ApiError } from '../runtime/errors.ts'
import type { OperatedRegistry, Print, RegistryCommand } from './registryCommands.ts'
import { noMoreThan, projectNumber, quoted, WrongCommand } from './commandWords.ts'

export const ACCOUNTS_USAGE = `Usage: npm run accounts -- <command>

  list                                     the people who may sign in
  add <e-mail> [role] [project number]     make an account, and print a link that sets its password
  link <e-mail>                            print a new link, e.g. for a forgotten password; older ones and sessions end
  role <e-mail> <role>                     give another role
  disable <e-mail>                         end the sessions of an account; nobody can sign in with it
  enable <e-mail>                          let the account sign in again
  delete <e-mail>                          delete an account

Roles: ${ROLES.join(', ')}. Without one, the role is admin; without a number, the project is 1. A link can be used once, within 72 hours.
The commands work while the server runs and while it is stopped.`

/**
 * Reads a command that was typed after `npm run accounts --`.
 * @param site the address of the server for links, without a slash at the end
 * @throws {WrongCommand}
 */
export function accountsCommand(command: string, rest: readonly string[], site: string): RegistryCommand {
  switch (command) {
    case 'list':
      noMoreThan(0, command, rest)
      return ({ people, keys }, print) => {
        for (const { id } of keys.projects()) listAccounts(people, id, print)
        if (people.accounts.size === 0)
          print('There are no accounts yet. People can sign in with a secret key.')
        return 0
      }
    case 'add': {
      noMoreThan(3, command, rest)
      const email = emailWord(command, rest[0])
      const role = rest[1] === undefined ? 'admin' : roleWord(command, rest[1])
      const project = rest[2] === undefined ? 1 : projectNumber(command, rest[2])
      return refusing(({ people, keys }, print) => {
        if (!keys.projects().some(({ id }) => id === project)) {
          print(`There is no project ${project}.`)
          return 2
        }
        if (people.accounts.byEmail(email) !== undefined) {
          print(
            `${email} has an account already. A new link for its password: npm run accounts -- link ${email}`,
          )
          return 2
        }
        const name = email.slice(0, email.lastIndexOf('@'))
        const { token } = people.accounts.create(project, email, name, role)
        return printLink(print, `${email} has the role ${role} in project ${project}.`, site, token)
      })
    }
    case 'link':
      noMoreThan(1, command, rest)
      return forAccount(command, rest[0], ({ accounts }, account, print) =>
        printLink(
          print,
          `The sessions of ${account.email} have ended.`,
          site,
          accounts.invite(account).token,
        ),
      )
    case 'role': {
      noMoreThan(2, command, rest)
      const role = roleWord(command, rest[1])
      return changing(command, rest[0], { role }, `has the role ${role}`)
    }
    case 'disable':
    case 'enable':
      noMoreThan(1, command, rest)
      return changing(command, rest[0], { disabled: command === 'disable' }, `is ${command}d`)
    case 'delete':
      noMoreThan(1, command, rest)
      return forAccount(command, rest[0], ({ accounts }, account, print) => {
        accounts.delete(account)
        print(`The account ${account.email} is deleted.`)
        return 0
      })
    default:
      throw new WrongCommand(`Unknown command ${quoted(command)}.`)
  }
}

function listAccounts({ accounts }: People, project: number, print: Print): void {
  for (const { email, role, disabled, lastSignInAt } of accounts.list(project)) {
    const last = lastSignInAt === undefined ? 'never signed in' : new Date(lastSignInAt).toISOString()
    print(`Project ${project}: ${email}  ${role}${disabled ? ' (disabled)' : ''}  ${last}`)
  }
}

function printLink(print: Print, sentence: string, site: string, token: string): number {
  print(sentence)
  print('This link sets the password, once and within 72 hours. Hand it over yourself:')
  print(`  ${invitationUrl(site, token)}`)
  return 0
}

function changing(
  command: string,
  email: string | undefined,
  change: Partial<Pick<Account, 'role' | 'disabled'>>,
  state: string,
): RegistryCommand {
  return forAccount(command, email, ({ accounts }, account, print) => {
    accounts.change(account, change)
    print(`${account.email} ${state}.`)
    return 0
  })
}

function forAccount(
  command: string,
  word: string | undefined,
  work: (people: People, account: Account, print: Print) => number,
): RegistryCommand {
  const email = emailWord(command, word)
  return refusing(({ people }, print) => {
    const account = people.accounts.byEmail(email)
    if (account !== undefined) return work(people, account, print)
    print(`There is no account ${email}.`)
    return 2
  })
}

/** Prints why something is refused, instead of throwing it. */
function refusing(command: RegistryCommand): RegistryCommand {
  return (registry: OperatedRegistry, print: Print) => {
    try {
      return command(registry, print)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 409) throw error
      print(error.message)
      return 2
    }
  }
}

function emailWord(command: string, word: string | undefined): string {
  try {
    return emailOf(word ?? '')
  } catch {
    throw new WrongCommand(`${command} needs an e-mail address, not ${quoted(word)}.`)
  }
}

function roleWord(command: string, word: string | undefined): Role {
  const role = ROLES.find((one) => one === word)
  if (role === undefined)
    throw new WrongCommand(`${command} needs a role (${ROLES.join(', ')}), not ${quoted(word)}.`)
  return role
}
