/** A browser for the bench of the dashboard: how it draws, and who has signed in. */
import type { BrowserContext } from 'playwright-core'
import { BENCH_KEYS } from '../load/servers.ts'

/** The square of the bench fills the map of a window of this size. */
export const WINDOW = { width: 1280, height: 800 }
export const ZOOM = 12.3

/** How the browser puts the parts of a page together. */
export type Composition =
  /** As it decides itself on a machine without a graphics card: in plain memory. */
  | 'own'
  /** Through an emulated graphics card. */
  | 'emulated'

/** The arguments of a browser. */
export function browserArgs(composition: Composition): string[] {
  return [
    '--no-sandbox',
    '--disable-dev-shm-usage',
    '--enable-unsafe-swiftshader',
    ...(composition === 'emulated' ? ['--use-angle=swiftshader'] : []),
  ]
}

/** Signs in as the form does, without loading a page. */
export async function signIn(context: BrowserContext, url: string): Promise<void> {
  const answer = await context.request.post(`${url}/v1/sessions`, {
    data: { key: BENCH_KEYS.testSecret },
    headers: { origin: url, 'x-ringfence-environment': 'test' },
  })
  if (!answer.ok()) throw new Error(`signing in: ${answer.status()} ${await answer.text()}`)
}
