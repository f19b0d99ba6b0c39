import { randomBytes } from 'node:crypto'
import Type from 'typebox'
import type { ScopeId } from '../../model/scope.ts'
import { WEBHOOK_FILTERS, type Webhook } from '../../model/webhook.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ApiError } from '../../runtime/errors.ts'
import { Collection, type CollectionParts } from '../records/collection.ts'
import type { StoredKind } from '../records/entity.ts'
import { recordRows, rowOfRecord } from '../records/recordRows.ts'
import type { WebhookDirectory } from './webhookDirectory.ts'
import type { WebhookChange, WebhookDefinition } from './webhookSchema.ts'

/**
 * How many webhooks an environment may have. Each is a reader of the event log, and takes a share of the outgoing
 * connections.
 */
const MAX_WEBHOOKS = 20
/** The length of a secret in bytes. It is a multiple of three, so base64 needs no padding. */
const SECRET_BYTES = 30
/** How long the previous secret also signs after a rotation, so that receivers can change over. */
const CHANGEOVER_MS = 24 * 3_600_000

const FILTERS = Object.fromEntries(
  WEBHOOK_FILTERS.map((name) => [name, Type.Optional(Type.Array(Type.String()))]),
)

/** How webhooks are stored as rows. */
export const WEBHOOKS: StoredKind<Webhook> = {
  singular: 'webhook',
  rows: recordRows(
    'webhooks',
    'none',
    Type.Object({
      url: Type.String(),
      enabled: Type.Boolean(),
      mode: Type.Enum(['single', 'multiple']),
      secret: Type.String(),
      description: Type.Optional(Type.String()),
      ...FILTERS,
    }),
  ),
  toRow: (webhook) => {
    const { tag: _tag, externalId: _externalId, ...row } = rowOfRecord(webhook)
    return row
  },
}

/**
 * The webhooks of all scopes. Unlike other records they have no pair, an edit names only what it changes, and their
 * secrets are generated here. Their routes are in delivery, because each edit of a webhook also affects its cursor
 * over the event log.
 */
export class WebhookRegistry implements WebhookDirectory {
  readonly #records: Collection<never, Webhook>
  readonly #clock: Clock

  constructor(parts: CollectionParts<Webhook>) {
    this.#records = new Collection(WEBHOOKS, parts)
    this.#clock = parts.clock
  }

  /** Fills the memory; see {@link Collection.load}. */
  load(): void {
    this.#records.load()
  }

  all(): readonly Webhook[] {
    return [...this.#records.all()].toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  }

  get(scope: ScopeId, id: string): Webhook | undefined {
    return this.#records.store(scope).get(id)
  }

  refuseFull(scope: ScopeId): void {
    if (this.#records.store(scope).records.size < MAX_WEBHOOKS) return
    throw new ApiError(409, `There are ${MAX_WEBHOOKS} webhooks, which is the limit. Delete one first.`)
  }

  create(id: string, scope: ScopeId, definition: WebhookDefinition): Promise<Webhook> {
    return this.#records.edit(() => {
      this.refuseFull(scope)
      const now = this.#clock.now()
      const stamps = { id, scope, createdAt: now, updatedAt: now }
      return this.#records.save({ ...definition, ...stamps, secret: newSecret() })
    })
  }

  change({ scope, id }: Webhook, change: WebhookChange): Promise<Webhook | undefined> {
    return this.#records.edit(() => {
      const before = this.get(scope, id)
      if (before === undefined) return undefined
      const changed = Object.entries({ ...before, ...change, updatedAt: this.#clock.now() })
      const kept = changed.filter(([, value]) => value !== undefined)
      return this.#records.save(Object.fromEntries(kept) as unknown as Webhook)
    })
  }

  rotate({ scope, id }: Webhook): Promise<Webhook | undefined> {
    return this.#records.edit(() => {
      const before = this.get(scope, id)
      if (before === undefined) return undefined
      const now = this.#clock.now()
      const previousSecret = { secret: before.secret, until: now + CHANGEOVER_MS }
      return this.#records.save({ ...before, secret: newSecret(), previousSecret, updatedAt: now })
    })
  }

  delete({ scope, id }: Webhook): Promise<boolean> {
    return this.#records.edit(() => this.#records.delete(scope, id))
  }
}

function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
}
