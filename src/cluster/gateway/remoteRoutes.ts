import type { Answer, Call, Route, RouteShape } from '../../http/route.ts'
import type { TObject, TSchema } from 'typebox'
import { ApiError } from '../../runtime/errors.ts'
import { NobodyListens, type Calls, type Served } from '../nats/calls.ts'

/**
 * Routes of which one process has the address and another the answer. The first process authenticates, limits and
 * validates. The handler's arguments and result are plain values, so they are sent as JSON.
 */

type AnyCall = Call<TObject | undefined, TObject | undefined, TSchema | undefined>

/** The parts of a {@link Call} that are sent. */
type Question = Pick<
  AnyCall,
  'params' | 'query' | 'body' | 'credentials' | 'ip' | 'receivedAt' | 'requestId'
> & {
  readonly route: string
}

type Reply =
  | { readonly is: 'answer'; readonly answer: Answer }
  | {
      readonly is: 'refusal'
      readonly code: number
      readonly message: string
      readonly detail: { readonly param?: string; readonly retryAfter?: number; readonly type?: string }
    }
  | { readonly is: 'failure'; readonly message: string }

/** Longer than the longest wait of a handler, which is for the receiver of a webhook. */
const ANSWER_MS = 65_000

/**
 * The routes, answered by the process that serves them under the subject. A request is sent only once, because its
 * effect must not be repeated.
 * @param missing the message of the 503 if no process serves them
 */
export function remoteRoutes(
  routes: readonly RouteShape[],
  calls: Calls,
  subject: string,
  missing: string,
): Route[] {
  const ask = async (name: string, call: AnyCall): Promise<Answer> => {
    const { params, query, body, credentials, ip, receivedAt, requestId } = call
    const question: Question = { route: name, params, query, body, credentials, ip, receivedAt, requestId }
    let bytes: Uint8Array
    try {
      bytes = await calls.ask(subject, Buffer.from(JSON.stringify(question)), ANSWER_MS)
    } catch (cause) {
      const sentence =
        cause instanceof NobodyListens
          ? missing
          : 'There was no answer. The request may or may not have been carried out.'
      throw new ApiError(503, sentence, { retryAfter: 1, cause })
    }
    const reply = JSON.parse(Buffer.from(bytes).toString()) as Reply
    if (reply.is === 'answer') return reply.answer
    if (reply.is === 'refusal') throw new ApiError(reply.code, reply.message, reply.detail)
    throw new Error(reply.message)
  }
  return routes.map((route) => ({ ...route, handler: (call) => ask(nameOf(route), call) }))
}

/** Answers the requests of {@link remoteRoutes}. */
export function serveRoutes(routes: readonly Route[], calls: Calls, subject: string): Served {
  const byName = new Map(routes.map((route) => [nameOf(route), route]))
  return calls.serve(subject, (bytes, answer) => {
    void replyTo(bytes, byName).then((reply) => answer(Buffer.from(JSON.stringify(reply))))
  })
}

/** Runs a handler and sends its answer. It never rejects. */
async function replyTo(bytes: Uint8Array, routes: ReadonlyMap<string, Route>): Promise<Reply> {
  try {
    const { route: name, ...call } = JSON.parse(Buffer.from(bytes).toString()) as Question
    const route = routes.get(name)
    if (route === undefined) throw new Error(`There is no ${name} here: is this process of another version?`)
    const answer = await route.handler(
      { ...call, upload: undefined, fromSdk: false, headers: {} } as AnyCall,
      NO_REPLY,
    )
    return { is: 'answer', answer: answer as Answer }
  } catch (error) {
    if (!(error instanceof ApiError)) return { is: 'failure', message: (error as Error).message }
    const { code, message, param, retryAfter, type } = error
    return {
      is: 'refusal',
      code,
      message,
      detail: {
        ...(param !== undefined && { param }),
        ...(retryAfter !== undefined && { retryAfter }),
        ...(type !== undefined && { type }),
      },
    }
  }
}

/** These handlers answer with their promise, so they do not need the reply. */
const NO_REPLY = { send() {}, fail() {}, aborted: false }

function nameOf({ method, path }: RouteShape): string {
  return `${method} ${path}`
}
