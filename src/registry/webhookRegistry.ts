import { randomBytes } from 'node:crypto'
import type { ScopeId } from '../model/scope.ts'
import type { Webhook } from '../model/webhook.ts'
import type { Clock } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'
import type { RegistryDatabase } from './database.ts'
import { RegistryDamaged } from './database.ts'
import type { WebhookDirectory } from './port.ts'
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

/** The webhooks of all scopes; a change is in the file, durably, before it is in memory. */
export class WebhookRegistry implements WebhookDirectory {
  readonly #database: RegistryDatabase
  readonly #clock: Clock
  /** In the order of creation. */
  readonly #webhooks = new Map<string, Webhook>()
  readonly #put
  readonly #remove

  constructor(database: RegistryDatabase, clock: Clock) {
    this.#database = database
    this.#clock = clock
    this.#put = database.prepare(
      `INSERT INTO webhooks (id, scope, createdAt, updatedAt, definition)
       VALUES (@id, @scope, @createdAt, @updatedAt, @definition)
       ON CONFLICT (id) DO UPDATE SET updatedAt = excluded.updatedAt, definition = excluded.definition`,
    )
    this.#remove = database.prepare('DELETE FROM webhooks WHERE id = ?')
    const all = database.prepare('SELECT * FROM webhooks ORDER BY rowid')
    for (const row of database.read(() => all.all()) as WebhookRow[])
      this.#webhooks.set(row.id, this.#fromRow(row))
  }

  all(): readonly Webhook[] {
    return [...this.#webhooks.values()]
  }

  get(id: string): Webhook | undefined {
    return this.#webhooks.get(id)
  }

  refuseFull(scope: ScopeId): void {
    const count = this.all().filter((webhook) => webhook.scope === scope).length
    if (count < MAX_WEBHOOKS) return
    throw new ApiError(409, `There are ${MAX_WEBHOOKS} webhooks, which is the limit. Delete one first.`)
  }

  create(id: string, scope: ScopeId, definition: WebhookDefinition): Webhook {
    this.refuseFull(scope)
    const now = this.#clock.now()
    return this.#save({ ...definition, id, scope, secret: newSecret(), createdAt: now, updatedAt: now })
  }

  change(id: string, change: WebhookChange): Webhook | undefined {
    const before = this.#webhooks.get(id)
    if (before === undefined) return undefined
    const { description, types, tags, ...rest } = { ...before, ...change, updatedAt: this.#clock.now() }
    return this.#save({
      ...rest,
      ...(description && { description }),
      ...(types && { types }),
      ...(tags && { tags }),
    })
  }

  rotate(id: string): Webhook | undefined {
    const before = this.#webhooks.get(id)
    if (before === undefined) return undefined
    const now = this.#clock.now()
    const previousSecret = { secret: before.secret, until: now + CHANGEOVER_MS }
    return this.#save({ ...before, secret: newSecret(), previousSecret, updatedAt: now })
  }

  delete(id: string): boolean {
    if (!this.#webhooks.has(id)) return false
    this.#database.write(() => this.#remove.run(id))
    return this.#webhooks.delete(id)
  }

  #save(webhook: Webhook): Webhook {
    const { id, scope, createdAt, updatedAt, ...definition } = webhook
    this.#database.write(() =>
      this.#put.run({ id, scope, createdAt, updatedAt, definition: JSON.stringify(definition) }),
    )
    this.#webhooks.set(id, webhook)
    return webhook
  }

  #fromRow({ definition, ...columns }: WebhookRow): Webhook {
    try {
      return { ...columns, ...JSON.parse(definition) }
    } catch (error) {
      throw new RegistryDamaged(this.#database.file, `webhook ${columns.id} cannot be read.`, error)
    }
  }
}

function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
}
