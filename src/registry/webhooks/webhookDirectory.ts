import type { ScopeId } from '../../model/scope.ts'
import type { Webhook } from '../../model/webhook.ts'
import type { WebhookChange, WebhookDefinition } from './webhookSchema.ts'

/** The webhooks of all scopes, for the code that delivers to them. Once a change has resolved, it is durable. */
export interface WebhookDirectory {
  /** All webhooks in the order of creation. */
  all(): readonly Webhook[]
  get(scope: ScopeId, id: string): Webhook | undefined
  /**
   * Checks the room for another webhook.
   * @throws {ApiError} 409 if the environment has none
   */
  refuseFull(scope: ScopeId): void
  /**
   * Creates a webhook.
   * @throws {ApiError} 409 if the environment has no room for it
   */
  create(id: string, scope: ScopeId, definition: WebhookDefinition): Promise<Webhook>
  /** Changes a webhook. This and the following methods return undefined if it does not exist. */
  change(webhook: Webhook, change: WebhookChange): Promise<Webhook | undefined>
  /** Makes a new secret. The previous one also signs for a day. */
  rotate(webhook: Webhook): Promise<Webhook | undefined>
  /** Deletes a webhook. Returns whether it existed. */
  delete(webhook: Webhook): Promise<boolean>
}
