import { Packr } from 'msgpackr'
import type { ScopeId } from '../../model/scope.ts'
import { ApiError } from '../../runtime/errors.ts'

/**
 * What a gateway asks the owner of a device about the trips that an update moved, as bytes (MessagePack).
 *
 * ```
 * question [scope, deviceId, number of the row in the feed]
 * answer   [trip, event*], or nothing: nobody remembers, or [message]: 503
 * ```
 */
const packr = new Packr({ useRecords: false })

interface Question {
  readonly scope: ScopeId
  readonly deviceId: string
  readonly number: number
}

interface Outcome {
  readonly trip: string | null
  readonly events: readonly string[]
}

export function encodeOutcomeQuestion({ scope, deviceId, number }: Question): Uint8Array {
  return packr.pack([scope, deviceId, number])
}

export function decodeOutcomeQuestion(bytes: Uint8Array): Question {
  const [scope, deviceId, number] = packr.unpack(bytes) as [ScopeId, string, number]
  return { scope, deviceId, number }
}

export function encodeOutcome(outcome: Outcome | ApiError | undefined): Uint8Array {
  if (outcome === undefined) return packr.pack(null)
  return packr.pack(outcome instanceof ApiError ? [outcome.message] : [outcome.trip, outcome.events])
}

export function decodeOutcome(bytes: Uint8Array): Outcome | ApiError | undefined {
  const row = packr.unpack(bytes) as [string] | [string | null, string[]] | null
  if (row === null) return undefined
  if (row.length === 1) return new ApiError(503, row[0], { retryAfter: 1 })
  const [trip, events] = row
  return { trip, events }
}
