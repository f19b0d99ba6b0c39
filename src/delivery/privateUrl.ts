import { ApiError } from '../runtime/errors.ts'
import type { Outgoing } from '../runtime/outgoing.ts'

/**
 * Refuses a URL whose address is private. A name is checked when it is connected to, but an address can be refused at
 * once.
 * @param param the name of the field for the error
 */
export function refusePrivate(outgoing: Outgoing, url: string, param = 'url'): void {
  const refusal = outgoing.refusal(new URL(url).hostname)
  if (refusal === undefined) return
  const sentence = `${param}: Invalid url. ${refusal.message}. The server's operator can allow it with --webhook-private-addresses (RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES).`
  throw new ApiError(400, sentence, { param, cause: refusal })
}
