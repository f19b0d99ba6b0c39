import { ApiError } from '../../runtime/errors.ts'
import type { Calls } from '../nats/calls.ts'

/** After this time, the partitions that have not been answered for are asked again. */
const ASK_AGAIN_MS = 500

/** A question about partitions, to the hosts that have them. */
export interface OwnersQuestion {
  readonly calls: Calls
  readonly subject: string
  readonly partitions: Iterable<number>
  /** How long a partition may remain without an answer, in milliseconds. */
  readonly giveUpMs: number
  encode(partitions: readonly number[]): Uint8Array
  /**
   * Reads which partitions an answer is for.
   * @returns the partitions, and `take`, which is called if none of them was answered for before
   */
  decode(answer: Uint8Array): { readonly partitions: readonly number[]; readonly take: () => void }
}

/**
 * Asks all hosts until all partitions are answered for. Each host answers for its own partitions.
 * @throws {ApiError} 503 if that takes too long
 */
export async function askOwners(question: OwnersQuestion): Promise<void> {
  const missing = new Set(question.partitions)
  if (missing.size === 0) return
  const isComplete = await new Promise<boolean>((resolve) => {
    const settle = (complete: boolean) => {
      clearInterval(again)
      clearTimeout(end)
      call.end()
      resolve(complete)
    }
    const call = question.calls.askAll(question.subject, (bytes) => {
      const { partitions, take } = question.decode(bytes)
      // An answer that repeats known partitions, or was requested before a partition changed hands, cannot be
      // divided.
      if (!partitions.every((partition) => missing.has(partition))) return
      for (const partition of partitions) missing.delete(partition)
      take()
      if (missing.size === 0) settle(true)
    })
    const send = () => call.send(question.encode([...missing]))
    const again = setInterval(send, ASK_AGAIN_MS)
    const end = setTimeout(() => settle(false), question.giveUpMs)
    send()
  })
  if (isComplete) return
  throw new ApiError(503, 'No process answers for some of the devices at the moment. Try again.', {
    retryAfter: 1,
  })
}
