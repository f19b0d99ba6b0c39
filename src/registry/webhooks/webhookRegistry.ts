import { randomBytes } from 'node:crypto'
import type { ScopeId } from '../../model/scope.ts'
import type { Webhook } from '../../model/webhook.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ApiError } from '../../runtime/errors.ts'
import { RegistryDamaged } from '../store/database.ts'
import type { EditLog } from '../store/editLog.ts'
import type { RegistryImage } from '../store/image.ts'
import type { WebhookDirectory } from './webhookDirectory.ts'
import type { WebhookChange, WebhookDefinition } from './webhookSchema.ts'

/** Each is a reader of the event log and a share of the outgoing connections. */
const MAX_WEBHOOKS = 20
/** A multiple of three: base64 without padding. */
const SECRET_BYTES = 30
/** How long the secret before a rotation signs too, so that receivers can change over. */
const CHANGEOVER_MS = 24 * 3_600_000

interface WebhookRow {
  readonly id: string
  readonly scope: ScopeId
  readonly createdAt: number
  readonly updatedAt: number
  readonly definition: string
}

/** The webhooks of all scopes: edits of them, and their image in memory. */
export class WebhookRegistry implements WebhookDirectory {
  readonly #edits: EditLog
  readonly #clock: Clock
  readonly #webhooks = new Map<string, Webhook>()

  constructor(image: RegistryImage, edits: EditLog, clock: Clock) {
    this.#edits = edits
    this.#clock = clock
    const { database } = image
    const all = database.prepare('SELECT * FROM webhooks')
    for (const row of database.read(() => all.all()) as WebhookRow[]) {
      try {
        this.#webhooks.set(row.id, webhookOfRow(row))
      } catch (error) {
        throw new RegistryDamaged(database.file, `webhook ${row.id} cannot be read.`, error)
      }
    }
    image.keep<WebhookRow, Webhook>('webhooks', {
      recordOf: webhookOfRow,
      put: (webhook) => void this.#webhooks.set(webhook.id, webhook),
      remove: (key) => void this.#webhooks.delete(key.slice(key.indexOf('.') + 1)),
    })
  }

  all(): readonly Webhook[] {
    return [...this.#webhooks.values()].toSorted(
      (a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1),
    )
  }

  get(id: string): Webhook | undefined {
    return this.#webhooks.get(id)
  }

  refuseFull(scope: ScopeId): void {
    const count = this.all().filter((webhook) => webhook.scope === scope).length
    if (count < MAX_WEBHOOKS) return
    throw new ApiError(409, `There are ${MAX_WEBHOOKS} webhooks, which is the limit. Delete one first.`)
  }

  create(id: string, scope: ScopeId, definition: WebhookDefinition): Promise<Webhook> {
    return this.#edits.edit(() => {
      this.refuseFull(scope)
      const now = this.#clock.now()
      return this.#put({ ...definition, id, scope, secret: newSecret(), createdAt: now, updatedAt: now })
    })
  }

  change(id: string, change: WebhookChange): Promise<Webhook | undefined> {
    return this.#edits.edit(() => {
      const before = this.#webhooks.get(id)
      if (before === undefined) return undefined
      const { description, types, tags, ...rest } = { ...before, ...change, updatedAt: this.#clock.now() }
      return this.#put({
        ...rest,
        ...(description && { description }),
        ...(types && { types }),
        ...(tags && { tags }),
      })
    })
  }

  rotate(id: string): Promise<Webhook | undefined> {
    return this.#edits.edit(() => {
      const before = this.#webhooks.get(id)
      if (before === undefined) return undefined
      const now = this.#clock.now()
      const previousSecret = { secret: before.secret, until: now + CHANGEOVER_MS }
      return this.#put({ ...before, secret: newSecret(), previousSecret, updatedAt: now })
    })
  }

  delete(id: string): Promise<boolean> {
    return this.#edits.edit(() => {
      const webhook = this.#webhooks.get(id)
      if (webhook === undefined) return false
      this.#edits.commit([{ kind: 'webhooks', key: `${webhook.scope}.${id}`, row: undefined }])
      return true
    })
  }

  /** Within an edit. */
  #put(webhook: Webhook): Webhook {
    const { id, scope, createdAt, updatedAt, ...definition } = webhook
    const row = { id, scope, createdAt, updatedAt, definition: JSON.stringify(definition) }
    this.#edits.commit([{ kind: 'webhooks', key: `${scope}.${id}`, row, record: webhook }])
    return webhook
  }
}

/** Throws SyntaxError where the JSON is not what we wrote. */
function webhookOfRow({ definition, ...columns }: WebhookRow): Webhook {
  return { ...columns, ...JSON.parse(definition) }
}

function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
}
