import { createHash, createHmac } from 'node:crypto'
import type { LoggedEvent } from '../events/port.ts'
import { wants } from '../events/filter.ts'
import { MAX_WEBHOOK_EVENTS, type Webhook } from '../model/webhook.ts'
import { newId } from '../runtime/newId.ts'
import { publicReason, type Outgoing } from '../runtime/outgoing.ts'
import type { Clock } from '../runtime/clock.ts'
import type { AttemptOutcome, Delivery, DeliveryTarget, Message, Send } from './webhookPort.ts'

/** How many bytes of a response's body are kept. */
const KEPT_BODY_BYTES = 1024

const SECRET_PREFIX = 'whsec_'

/** Some events, and the delivery that carries them. */
export interface Bundle {
  readonly delivery: Delivery
  readonly jsons: readonly string[]
}

/**
 * The deliveries for some events, in the order of the log: one for each event that the target wants, or one for
 * successive events of a device that belong to one user.
 */
export function bundle(target: DeliveryTarget, placed: readonly LoggedEvent[], now: number): Bundle[] {
  const { id: webhookId } = target
  const multiple = target.mode === 'multiple'
  const bundles: { userRecordId: string; deviceId: string; events: LoggedEvent['event'][] }[] = []
  const latest = new Map<string, (typeof bundles)[number]>()
  for (const { event } of placed) {
    if (!wants(target, event)) continue
    const { deviceId, userRecordId } = event
    const open = latest.get(deviceId)
    if (
      multiple &&
      open?.userRecordId === userRecordId &&
      open.deviceId === deviceId &&
      open.events.length < MAX_WEBHOOK_EVENTS
    ) {
      open.events.push(event)
      continue
    }
    const begun = { userRecordId, deviceId, events: [event] }
    bundles.push(begun)
    latest.set(deviceId, begun)
  }
  return bundles.map(({ userRecordId, deviceId, events }) => {
    const eventIds = events.map((event) => event.id)
    const delivery: Delivery = {
      id: newId(now),
      webhookId,
      messageId: messageId(eventIds),
      deviceId,
      userRecordId,
      eventIds,
      types: events.map((event) => event.type),
      multiple,
      createdAt: now,
      status: 'pending',
      attemptCount: 0,
      attempts: [],
      failures: 0,
    }
    return { delivery, jsons: events.map((event) => event.json) }
  })
}

/** An id that is the same for the same events, so that a receiver recognises what it has seen. */
function messageId(eventIds: readonly string[]): string {
  if (eventIds.length === 1) return `msg_${eventIds[0]}`
  return `msg_${createHash('sha256').update(eventIds.join()).digest('hex').slice(0, 24)}`
}

/** The id of the event in a message that carries one event. */
export function eventIdOf(id: string): string {
  return id.slice('msg_'.length)
}

/** `{event, user}` or `{events, user}`; without `user` if the record is gone. */
export function messageBody(multiple: boolean, events: readonly string[], user: string | undefined): string {
  const what = multiple ? `"events":[${events.join(',')}]` : `"event":${events[0]}`
  return user === undefined ? `{${what}}` : `{${what},"user":${user}}`
}

/**
 * The headers of one attempt: those of Standard Webhooks, whose signature covers the body and the time, and those
 * that receivers of Radar's webhooks check, whose signature does not cover them.
 */
function messageHeaders(webhook: Webhook, message: Message, now: number): Record<string, string> {
  const { secret, previousSecret } = webhook
  const secrets = [secret, ...(previousSecret && previousSecret.until > now ? [previousSecret.secret] : [])]
  return {
    ...standardHeaders(message, secrets, now),
    'X-Radar-Signing-Id': message.id,
    'X-Radar-Signature': createHmac('sha1', secret).update(message.id).digest('hex'),
  }
}

/** The headers of Standard Webhooks; without secrets, the message is not signed. */
export function standardHeaders(
  message: Message,
  secrets: readonly string[],
  now: number,
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000))
  const signed = `${message.id}.${timestamp}.${message.body}`
  return {
    'Content-Type': 'application/json',
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    ...(secrets.length > 0 && {
      'webhook-signature': secrets.map((each) => signature(each, signed)).join(' '),
    }),
  }
}

/**
 * A signature of Standard Webhooks, computed by Node. Their library computes it in JavaScript, which takes a
 * millisecond for 100 KB; the messages of many webhooks took that together in one turn. The tests verify it with
 * their library.
 */
function signature(secret: string, signed: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}

/** How requests are made. */
export interface PostOptions {
  readonly clock: Clock
  readonly version: string
  /** In milliseconds. */
  readonly timeoutMs: number
}

/** Sends the messages of webhooks as POST requests. */
export function senderThrough(outgoing: Outgoing, options: PostOptions): Send {
  const post = postThrough(outgoing, options)
  return (webhook, message, signal) =>
    post(webhook.url, message.body, (now) => messageHeaders(webhook, message, now), signal)
}

/**
 * Makes a POST request. The result never rejects.
 * @returns a function whose `headersAt` gets the time of the attempt, in epoch milliseconds
 */
export function postThrough(outgoing: Outgoing, options: PostOptions) {
  const userAgent = `Ringfence/${options.version}`
  return async (
    url: string,
    body: string,
    headersAt: (now: number) => Record<string, string>,
    signal: AbortSignal,
  ): Promise<AttemptOutcome> => {
    const at = options.clock.now()
    const began = performance.now()
    const latency = () => Math.round(performance.now() - began)
    try {
      const answer = await outgoing.request(url, {
        method: 'POST',
        headers: { ...headersAt(at), 'User-Agent': userAgent },
        body,
        timeoutMs: options.timeoutMs,
        keepBytes: KEPT_BODY_BYTES,
        signal,
      })
      const { status } = answer
      const answered = answer.body.toString()
      if (status >= 200 && status < 300) return { at, latency: latency(), status, body: answered }
      const retryAfterMs = retryAfterOf(answer.headers['retry-after'], options.clock.now())
      return { at, latency: latency(), status, error: `answered ${status}`, body: answered, retryAfterMs }
    } catch (error) {
      return { at, latency: latency(), error: publicReason(error), body: '' }
    }
  }
}

/** The milliseconds of a `Retry-After`, which is a number of seconds or a date; undefined if it is neither. */
function retryAfterOf(value: string | string[] | undefined, now: number): number | undefined {
  // If there are two such headers, the first one counts.
  const text = String([value].flat()[0]).trim()
  const milliseconds = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return milliseconds > 0 ? milliseconds : undefined
}
