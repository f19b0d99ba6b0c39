import { WebhookVerificationError } from './errors.ts'
import type { Event, User } from './types.ts'

/** The content of a webhook: one event, or up to five. The user is as it was when the webhook was sent. */
export type WebhookPayload =
  | { readonly event: Event; readonly user?: User }
  | { readonly events: readonly Event[]; readonly user?: User }

/** Headers in the form of fetch or of Node. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

const TOLERANCE_SECONDS = 300

/**
 * Checks the signature of a webhook over its exact body (Standard Webhooks 1.0: HMAC-SHA256 of id, timestamp and
 * body), and that it is at most five minutes old. WebCrypto compares in constant time.
 * @param body the body as it was received, before any parsing
 * @param secret `whsec_…`, as shown when the webhook was created
 * @throws WebhookVerificationError
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
): Promise<WebhookPayload> {
  const id = required(headers, 'webhook-id')
  const timestamp = required(headers, 'webhook-timestamp')
  const signatures = required(headers, 'webhook-signature')
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError('webhook-timestamp is not a time.')
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS)
    throw new WebhookVerificationError('The webhook is too old, or the clocks of sender and receiver differ.')
  const keyBytes = bytesOf(secret.replace(/^whsec_/, ''))
  if (keyBytes === undefined || keyBytes.length === 0)
    throw new WebhookVerificationError('The secret is not whsec_ and Base64.')
  const key = await crypto.subtle.importKey('raw', keyBytes, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'verify',
  ])
  const signed = signedBytes(`${id}.${timestamp}.`, body)
  for (const signature of signatures.split(' ')) {
    // While a secret is being replaced, there are two signatures.
    const bytes = signature.startsWith('v1,') ? bytesOf(signature.slice(3)) : undefined
    if (bytes !== undefined && (await crypto.subtle.verify('HMAC', key, bytes, signed))) return payload(body)
  }
  throw new WebhookVerificationError('No signature matches.')
}

function payload(body: string | Uint8Array): WebhookPayload {
  return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as WebhookPayload
}

function signedBytes(head: string, body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder()
  const headBytes = encoder.encode(head)
  const bodyBytes = typeof body === 'string' ? encoder.encode(body) : body
  const bytes = new Uint8Array(headBytes.length + bodyBytes.length)
  bytes.set(headBytes)
  bytes.set(bodyBytes, headBytes.length)
  return bytes
}

function required(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  if (typeof value !== 'string' || value === '') throw new WebhookVerificationError(`${name} is missing.`)
  return value
}

/** The bytes of a Base64 text; undefined if it is not Base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
