import { ApiError } from '../../runtime/errors.ts'
import type { Calls } from '../nats/calls.ts'

/** Until those who have not answered a question are asked again. */
const ASK_AGAIN_MS = 500

/** A question about partitions, to the hosts that have them. */
export interface OwnersQuestion {
  readonly calls: Calls
  readonly subject: string
  readonly partitions: Iterable<number>
  /** How long there may be nobody who answers for one of them. */
  readonly patienceMs: number
  encode(partitions: readonly number[]): Uint8Array
  /** What an answer is for; `take` is called where nothing of it was known. */
  decode(answer: Uint8Array): { readonly partitions: readonly number[]; readonly take: () => void }
}

/**
 * Asks all hosts, each of which answers for the partitions that it has, until all partitions are answered for.
 * @throws {ApiError} 503 where that takes too long
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
      // One that says again what is known, or was asked before the partition changed hands, cannot be taken apart.
      if (!partitions.every((partition) => missing.has(partition))) return
      for (const partition of partitions) missing.delete(partition)
      take()
      if (missing.size === 0) settle(true)
    })
    const send = () => call.send(question.encode([...missing]))
    const again = setInterval(send, ASK_AGAIN_MS)
    const end = setTimeout(() => settle(false), question.patienceMs)
    send()
  })
  if (isComplete) return
  throw new ApiError(503, 'No process answers for some of the devices at the moment. Try again.', {
    retryAfter: 1,
  })
}
