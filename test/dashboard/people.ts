/** People of the project, for tests of what each may see and do. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { Server } from '../kit/server.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.ts')
const PASSWORD = 'correct horse battery'

export interface Person {
  readonly email: string
  signIn(page: Page, path: string): Promise<void>
}

/** Makes an account with the operator's command, and accepts its invitation. */
export async function invite(
  server: Server,
  email: string,
  role: 'read' | 'write' | 'admin',
): Promise<Person> {
  const printed = execFileSync(process.execPath, [MAIN, 'accounts', 'add', email, role], {
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      RINGFENCE_DATA: server.data,
      RINGFENCE_PORT: String(server.port),
    },
    encoding: 'utf8',
  })
  const token = /invitation=([\w-]+)/.exec(printed)![1]!
  await server.api(
    'POST',
    `/v1/invitations/${token}`,
    { password: PASSWORD, name: email.split('@')[0] },
    null,
  )
  return {
    email,
    async signIn(page, path) {
      await page.goto(`/sign-in?to=${encodeURIComponent(path)}`)
      await page.getByRole('button', { name: 'E-mail' }).click()
      await page.getByLabel('E-mail').fill(email)
      await page.getByLabel('Password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.waitForURL((url) => url.pathname === new URL(path, url).pathname)
    },
  }
}
