import { createHash } from 'node:crypto'
import { JSON_CONTENT_TYPE, successText } from './answerText.ts'
import type { Answer } from './route.ts'

/**
 * An answer with a version, which is the same for equal answers: a client that asks again with its version
 * (If-None-Match, which browsers send by themselves) is told that it is still valid. Nothing in it may depend on the
 * time.
 */
export function versionedAnswer(answer: Pick<Answer, 'meta' | 'body'>): Answer {
  const text = successText(200, answer)
  const etag = createHash('sha256').update(text).digest('hex').slice(0, 32)
  return {
    bytes: { contentType: JSON_CONTENT_TYPE, content: Buffer.from(text), etag },
    headers: { 'Cache-Control': 'private, no-cache' },
  }
}
