import { badParam } from '../runtime/errors.ts'
import type { RawMessage } from './messages.ts'

/**
 * Turns a decoded object into a message.
 * @throws {ApiError} 400 if it has no type
 */
export function rawMessage(value: Record<string, unknown>): RawMessage {
  if (typeof value.type !== 'string') {
    throw badParam(
      'type',
      value.type === undefined || value.type === null ? 'Required.' : 'Must be a string.',
    )
  }
  return value as RawMessage
}
