import { setTimeout as sleep } from 'node:timers/promises'

/** An event as far as the demo reads it. */
export interface DemoEvent {
  readonly _id: string
  readonly type: string
  /** ISO 8601: the time of the update. */
  readonly createdAt: string
  readonly user?: { readonly deviceId?: string }
  readonly geofence?: { readonly tag: string; readonly externalId: string; readonly description: string }
  readonly confidence?: number
  /** Minutes; on exits. */
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

/** What an import answers, as far as the demo reads it. */
export interface ImportAnswer {
  readonly errors: readonly { readonly line: number; readonly message: string }[]
  readonly interruption?: { readonly line: number; readonly message: string }
}

/** The server answered something else than 200. */
export class CallFailed extends Error {
  readonly status: number

  constructor(call: string, status: number, message: string) {
    super(`${call} answered ${status}: ${message}`)
    this.name = 'CallFailed'
    this.status = status
  }
}

/** How often a call that was told to come back later (429, 503) is made. */
const ATTEMPTS = 10
/** Calls under way at once in {@link eachOf}. */
const CONCURRENCY = 16

/** The calls of the public API that the demo makes. */
export class Api {
  readonly url: string
  private readonly key: string

  /** @param url without a slash at its end */
  constructor(url: string, key: string) {
    this.url = url
    this.key = key
  }

  /** One call; throws {@link CallFailed} unless it answers 200. */
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

  /** As {@link call}, but comes back a second later when the server asks for it. */
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

  /** Devices that the server never came to know are not missed. */
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
