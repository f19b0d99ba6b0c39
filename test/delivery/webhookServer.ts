/** A server whose webhooks are tried, and what the tests of webhooks ask of it. */
import { createHmac } from 'node:crypto'
import { Webhook as Verifier } from 'standardwebhooks'
import type { Test } from 'tap'
import { Server, startServer } from '../kit/server.ts'
import type { Received } from './webhookKit.ts'

export const ENV = { RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8' }
export const INSIDE = { latitude: 52.5219, longitude: 13.4132, accuracy: 10 }
export const OUTSIDE = { latitude: 52.6, longitude: 13.4132, accuracy: 10 }

/** A server with two geofences at the same place, with the tags `store` and `depot`. */
export async function withGeofences(t: Test, env: Record<string, string> = {}): Promise<Server> {
  const server = await startServer(t, { env: { ...ENV, ...env } })
  for (const tag of ['store', 'depot']) {
    const { longitude, latitude } = INSIDE
    const body = { description: tag, type: 'circle', coordinates: [longitude, latitude], radius: 100 }
    await server.api('PUT', `/v1/geofences/${tag}/1`, body)
  }
  return server
}

export async function track(
  server: Server,
  deviceId: string,
  place: typeof INSIDE,
  more: object = {},
): Promise<string[]> {
  const { events } = await server.good('POST', '/v1/track', { deviceId, ...place, ...more })
  return events.map((event: { _id: string }) => event._id)
}

export async function create(server: Server, body: object) {
  return (await server.good('POST', '/v1/webhooks', body)).webhook as { _id: string; secret: string }
}

export const eventIds = ({ json }: Received): string[] =>
  (json.events ?? [json.event]).map((event: { _id: string }) => event._id)

/** Checks the signature with the library of Standard Webhooks, and compares it with one computed by hand. */
export function isSigned({ body, headers }: Received, secret: string): boolean {
  new Verifier(secret).verify(body, headers as Record<string, string>)
  const known = createHmac('sha1', secret).update(String(headers['x-radar-signing-id'])).digest('hex')
  return known === headers['x-radar-signature']
}
