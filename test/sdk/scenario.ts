/**
 * What the built package must do wherever it runs: in a browser, and in the oldest supported Node. It runs without
 * the test runner, and in that Node without TypeScript, so it imports only types.
 */
import type * as Package from '../../sdk/src/index.ts'

export interface Surroundings {
  readonly url: string
  readonly publishableKey: string
  readonly secretKey: string
  readonly isBrowser: boolean
  /** For environments without WebSocket, the one from `ws`. */
  readonly WebSocket?: Package.WebSocketConstructor
  /** Kills the server and starts it again. */
  readonly restart: () => Promise<void>
}

/** A sentence for each check, and whether it passed. */
export type Checks = [what: string, holds: boolean][]

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

export async function scenario(
  { Ringfence, RingfenceError, verifyWebhook }: typeof Package,
  { url, publishableKey, secretKey, isBrowser, WebSocket, restart }: Surroundings,
): Promise<Checks> {
  const checks: Checks = []
  const check = (what: string, holds: boolean) => checks.push([what, holds])
  const failure = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => undefined,
      (error: unknown) => error,
    )
  const options = WebSocket === undefined ? {} : { WebSocket }
  const client = new Ringfence({ url, key: publishableKey, ...options })
  const update = (n: number) => ({
    deviceId: 'phone',
    latitude: n % 2 === 0 ? 40.6892 : 41,
    longitude: -74.0445,
    accuracy: 5,
  })

  const { events: entered } = await client.track(update(0))
  check('a call is answered', entered[0]?.type === 'user.entered_geofence')
  const refused = await failure(client.track({ ...update(0), latitude: 91 }))
  check('errors say what is wrong', refused instanceof RingfenceError && refused.param === 'latitude')
  const forbidden = await failure(client.get('/v1/users'))
  check('a publishable key may not do all', forbidden instanceof RingfenceError && forbidden.status === 403)
  const aborted = await failure(client.get('/v1/config', { signal: AbortSignal.abort(new Error('enough')) }))
  check('calls can be aborted', aborted instanceof Error && aborted.message === 'enough')

  const stream = client.stream()
  const events = stream.events({ deviceIds: ['phone'] })
  await events.ready
  const sent = Array.from({ length: 400 }, (_, n) => stream.track(update(n + 1)))
  await sent[50]
  await restart()
  await Promise.all(sent)
  const seen: Package.Event[] = []
  for await (const event of events) if (seen.push(event) === 400) break
  check('no event comes twice', new Set(seen.map(({ _id }) => _id)).size === 400)
  check(
    'every update was applied once, and in order',
    seen.every(({ type }, n) => type === (n % 2 === 0 ? 'user.exited_geofence' : 'user.entered_geofence')),
  )
  const bad = await failure(stream.track({ ...update(0), accuracy: -1 }))
  check('updates are refused one by one', bad instanceof RingfenceError && bad.param === 'accuracy')
  await stream.close()

  const secret = new Ringfence({ url, key: secretKey, ...options }).stream()
  const outcome = await failure(secret.track(update(0)))
  if (isBrowser) {
    check('a browser sends no secret key', outcome instanceof TypeError && outcome.message.includes('secret'))
  } else {
    check('a server sends a secret key', outcome === undefined)
    await secret.close()
  }
  const unknown = new Ringfence({ url, key: `prj_test_pk_${'0'.repeat(40)}`, ...options }).stream()
  const unauthorized = await failure(unknown.track(update(0)))
  check('a wrong key is told', unauthorized instanceof RingfenceError && unauthorized.status === 401)

  const body = '{"event":{"_id":"1"}}'
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) }
  const signature = await sign(`msg_1.${headers['webhook-timestamp']}.${body}`)
  const signed = { ...headers, 'webhook-signature': `v1,${signature}` }
  check('webhooks are verified', 'event' in (await verifyWebhook(body, signed, SECRET)))
  check('and refused', (await failure(verifyWebhook(`${body} `, signed, SECRET))) instanceof Error)
  return checks
}

async function sign(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(SECRET.slice('whsec_'.length)), (character) => character.charCodeAt(0))
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text))
  return btoa(String.fromCharCode(...new Uint8Array(signature)))
}
