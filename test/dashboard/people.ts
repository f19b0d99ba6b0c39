/** People of the project, for tests of what each may see and do. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { NODE_OPTIONS } from '../kit/nodeOptions.ts'
import type { Server } from '../kit/server.ts'
import { signInWith } from './kit.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.ts')
const PASSWORD = 'correct horse battery'

export interface Person {
  readonly email: string
  readonly password: string
  /** Opens a page as this person. */
  signIn(page: Page, path: string): Promise<void>
}

type Role = 'read' | 'write' | 'admin'

/** Makes an account with the operator's command. Returns the token of its invitation. */
export function invitationOf(server: Server, email: string, role: Role): string {
  const printed = execFileSync(process.execPath, [MAIN, 'accounts', 'add', email, role], {
    env: {
      ...process.env,
      NODE_OPTIONS,
      RINGFENCE_DATA: server.data,
      RINGFENCE_PORT: String(server.port),
    },
    encoding: 'utf8',
  })
  return /invitation=([\w-]+)/.exec(printed)![1]!
}

/** Makes an account with the operator's command, and accepts its invitation. */
export async function invite(server: Server, email: string, role: Role): Promise<Person> {
  const token = invitationOf(server, email, role)
  await server.api(
    'POST',
    `/v1/invitations/${token}`,
    { password: PASSWORD, name: email.split('@')[0] },
    null,
  )
  return {
    email,
    password: PASSWORD,
    signIn: (page, path) => signInWith(page, { email, password: PASSWORD }, path),
  }
}
