/** The OpenAPI document of the last release, as `npm run release:interface` keeps it. */
import { fileURLToPath } from 'node:url'

export const RELEASED = fileURLToPath(new URL('released.json', import.meta.url))

const TEXTS = new Set(['description', 'summary', 'example', 'examples'])

/** A document without its texts for readers and its errors. A member may be called like a text. */
export function withoutTexts(node: unknown, isOfNames = false): unknown {
  if (Array.isArray(node)) return node.map((item) => withoutTexts(item))
  if (typeof node !== 'object' || node === null) return node
  const kept = Object.entries(node).filter(
    ([key]) => isOfNames || !(TEXTS.has(key) || /^[45]\d\d$/.test(key)),
  )
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutTexts(value, key === 'properties')]))
}
