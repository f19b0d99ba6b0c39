import { setTimeout as sleep } from 'node:timers/promises'

/** The part of an event that the demo reads. */
export interface DemoEvent {
  readonly _id: string
  readonly type: string
  /** The time of the update in ISO 8601. */
  readonly createdAt: string
  readonly user?: { readonly deviceId?: string }
  readonly geofence?: { readonly tag: string; readonly externalId: string; readonly description: string }
  readonly confidence?: number
  /** The duration of the visit in minutes; only exits have it. */
  readonly duration?: number
}

/** The answer of both track calls. */
export interface TrackAnswer {
  readonly events: readonly DemoEvent[]
}

/** A geofence definition, as PUT /v1/geofences/:tag/:externalId takes it. */
export interface GeofenceDefinition {
  readonly tag: string
  readonly externalId: string
  readonly [field: string]: unknown
}

/** The part of an import's answer that the demo reads. */
export interface ImportAnswer {
  readonly errors: readonly { readonly line: number; readonly message: string }[]
  readonly interruption?: { readonly line: number; readonly message: string }
}

/** The server answered with a status other than 200. */
export class CallFailed extends Error {
  readonly status: number

  constructor(call: string, status: number, message: string) {
    super(`${call} answered ${status}: ${message}`)
    this.name = 'CallFailed'
    this.status = status
  }
}

/** How often a call is made that the server asks to repeat later (429, 503). */
const ATTEMPTS = 10
/** Concurrent calls in {@link eachOf}. */
const CONCURRENCY = 16

/** The calls of the public API that the demo makes. */
export class Api {
  readonly url: string
  private readonly key: string

  /**
   * Makes a client.
   * @param url without a slash at its end
   */
  constructor(url: string, key: string) {
    this.url = url
    this.key = key
  }

  /** Makes one call. Throws {@link CallFailed} unless it is answered with 200. */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    return this.send(method, path, 'application/json', body === undefined ? undefined : JSON.stringify(body))
  }

  async importGeofences(csv: Uint8Array): Promise<ImportAnswer> {
    const answer = await this.send('POST', '/v1/imports/geofences', 'text/csv', csv)
    return (answer as { import: ImportAnswer }).import
  }

  private async send(
    method: string,
    path: string,
    contentType: string,
    body: string | Uint8Array | undefined,
  ): Promise<unknown> {
    const answer = await fetch(this.url + path, {
      method,
      headers: { Authorization: this.key, ...(body === undefined ? {} : { 'Content-Type': contentType }) },
      ...(body === undefined ? {} : { body: body as string }),
    })
    const text = await answer.text()
    if (answer.status !== 200) throw new CallFailed(`${method} ${path}`, answer.status, text)
    return JSON.parse(text)
  }

  /** Like {@link call}, but tries again a second later if the server asks for it. */
  async callPatiently(method: string, path: string, body?: unknown): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.call(method, path, body)
      } catch (error) {
        const later = error instanceof CallFailed && (error.status === 429 || error.status === 503)
        if (!later || attempt === ATTEMPTS) throw error
        await sleep(1000)
      }
    }
  }

  async putGeofences(geofences: readonly GeofenceDefinition[]): Promise<void> {
    await eachOf(geofences, ({ tag, externalId, ...definition }) =>
      this.callPatiently('PUT', geofencePath(tag, externalId), definition),
    )
  }

  async deleteGeofences(geofences: readonly GeofenceDefinition[]): Promise<void> {
    await eachOf(geofences, ({ tag, externalId }) =>
      this.callPatiently('DELETE', geofencePath(tag, externalId)),
    )
  }

  /** It does not matter if the server never received some of the devices. */
  async deleteUsers(deviceIds: readonly string[]): Promise<void> {
    await eachOf(deviceIds, async (deviceId) => {
      try {
        await this.callPatiently('DELETE', `/v1/users/${encodeURIComponent(deviceId)}`)
      } catch (error) {
        if (!(error instanceof CallFailed && error.status === 404)) throw error
      }
    })
  }
}

function geofencePath(tag: string, externalId: string): string {
  return `/v1/geofences/${encodeURIComponent(tag)}/${encodeURIComponent(externalId)}`
}

/** Runs the task for each item, a few at a time. */
async function eachOf<T>(items: readonly T[], task: (item: T) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < items.length) await task(items[next++]!)
  }
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, worker))
}
