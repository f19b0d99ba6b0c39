/**
 * The OpenAPI documents of servers within one run of the tests. The document depends on the code and the settings alone. Writing it
 * takes a server a fifth of a second when it has just been started, and hundreds are started.
 */
import { keepText, keptText } from './keptTexts.ts'

/**
 * The document of a server with these settings, as another one of this run has answered it, or else as `ask` answers.
 * @param ask resolves to undefined if the server has none, which is not remembered
 */
export async function documentOf(
  settings: unknown,
  ask: () => Promise<string | undefined>,
): Promise<string | undefined> {
  const name = `document ${JSON.stringify(settings)}`
  const kept = keptText(name)
  if (kept !== undefined) return kept
  const text = await ask()
  if (text !== undefined) keepText(name, text)
  return text
}
