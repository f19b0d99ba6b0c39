/** Puts recorded requests and answers into the operations of an OpenAPI document. */

type Json = Record<string, unknown>

/** One request and its complete answer, JSON or text. */
export interface Example {
  readonly summary: string
  /** The values by the names of the path's parameters. */
  readonly params?: Readonly<Record<string, string>>
  /** The values by the names of the query's parameters. A member of an object is `metadata[region]`. */
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly body?: unknown
  /** A body that is not JSON. */
  readonly upload?: { readonly contentType: string; readonly content: string }
  /** Absent if the answer is a text. */
  readonly answer?: { readonly meta: { readonly code: number } }
  /** An answer that is not JSON. */
  readonly text?: { readonly contentType: string; readonly content: string }
}

/** The contents of docs/examples.json. */
export interface Examples {
  /** The examples by the method and path of the route: `GET /v1/users/:id`. */
  readonly operations: Readonly<Record<string, readonly Example[]>>
  /** Error answers by their status. */
  readonly errors: Readonly<Record<string, unknown>>
}

/**
 * Adds examples to an operation made by openApiDocument: all of them to its body and answers, and the first one to
 * its parameters, where the reference uses them as the start of a trial.
 * @param name as in {@link Examples}
 */
export function addExamples(operation: Json, { operations, errors }: Examples, name: string): void {
  const responses = operation.responses as Record<string, { content?: Record<string, Json> }>
  const limited = responses[429]?.content?.['application/json']
  if (limited !== undefined && errors[429] !== undefined) limited.example = errors[429]
  const examples = operations[name] ?? []
  const [first] = examples
  if (first === undefined) return
  for (const parameter of operation.parameters as Json[]) {
    const value = first.params?.[parameter.name as string] ?? queryValue(first, parameter)
    if (value !== undefined) parameter.example = value
  }
  const body = operation.requestBody as { content: Record<string, Json> } | undefined
  for (const [i, { summary, body: sent, upload, answer, text }] of examples.entries()) {
    const key = `example${i + 1}`
    if (sent !== undefined) addExample(body?.content['application/json'], key, summary, sent)
    if (upload !== undefined) addExample(body?.content[upload.contentType], key, summary, upload.content)
    if (answer !== undefined)
      addExample(responses[answer.meta?.code ?? 200]?.content?.['application/json'], key, summary, answer)
    if (text !== undefined)
      addExample(responses[200]?.content?.[text.contentType], key, summary, text.content)
  }
}

function addExample(media: Json | undefined, name: string, summary: string, value: unknown): void {
  if (media === undefined) return
  const examples = (media.examples ??= {}) as Json
  examples[name] = { summary, value }
}

function queryValue({ query = {} }: Example, { name, style }: Json): unknown {
  if (style !== 'deepObject') return query[name as string]
  const members = Object.entries(query).flatMap(([key, value]) =>
    key.startsWith(`${name as string}[`) ? [[key.slice((name as string).length + 1, -1), value]] : [],
  )
  return members.length === 0 ? undefined : Object.fromEntries(members)
}
