import type { ScopeId } from '../../model/scope.ts'
import type { Webhook } from '../../model/webhook.ts'
import type { WebhookChange, WebhookDefinition } from './webhookSchema.ts'

/** The webhooks of all scopes, as what delivers to them uses them. What a change resolved to is durable. */
export interface WebhookDirectory {
  /** In the order of creation. */
  all(): readonly Webhook[]
  get(scope: ScopeId, id: string): Webhook | undefined
  /** @throws ApiError 409 where the environment has no room for another */
  refuseFull(scope: ScopeId): void
  /** @throws ApiError 409 where the environment has no room for another */
  create(id: string, scope: ScopeId, definition: WebhookDefinition): Promise<Webhook>
  /** Undefined where there is none; so are those below. */
  change(webhook: Webhook, change: WebhookChange): Promise<Webhook | undefined>
  /** A new secret; the one before signs beside it for a day. */
  rotate(webhook: Webhook): Promise<Webhook | undefined>
  /** Whether it was there. */
  delete(webhook: Webhook): Promise<boolean>
}
