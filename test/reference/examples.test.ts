/** The examples of the reference are complete, match its schemas, and are what the server answers today. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { Check, Errors } from 'typebox/schema'
import { Recording, type Examples } from '../../docs/examples/recording.ts'
import { STORY_SERVER, tellStory } from '../../docs/examples/story.ts'
import { startServer } from '../kit/server.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- documents and answers of every shape
type Json = any

const AGAIN = '`npm run examples` writes docs/examples.json anew'
const committed: Examples = JSON.parse(
  readFileSync(new URL('../../docs/examples.json', import.meta.url), 'utf8'),
)

t.test('running the story today gives the committed examples', async (t) => {
  const recording = new Recording(await startServer(t, STORY_SERVER))
  await tellStory(recording)
  const told = recording.examples()
  t.strictSame(Object.keys(told.operations), Object.keys(committed.operations), AGAIN)
  for (const [operation, examples] of Object.entries(told.operations)) {
    t.strictSame(
      examples.map(shapeOf),
      committed.operations[operation]?.map(shapeOf),
      `${operation}: ${AGAIN}`,
    )
  }
  t.strictSame(told.errors, committed.errors, AGAIN)
})

t.test('in the document, every operation that answers JSON has examples that fit its schemas', async (t) => {
  const server = await startServer(t)
  const { body: document } = await server.api('GET', '/v1/openapi.json', undefined, null)
  let checked = 0
  const check = (where: string, schema: Json, value: unknown) => {
    checked++
    // References start at the root, so the components must be included.
    const whole = { ...schema, components: document.components }
    if (!Check(whole, value)) t.fail(`${where}: ${JSON.stringify(Errors(whole, value)[1])}`)
  }
  for (const [path, operations] of Object.entries(document.paths as Json)) {
    // Documents themselves.
    if (path === '/v1/openapi.json' || path === '/v1/asyncapi.json') continue
    for (const [method, operation] of Object.entries(operations as Json) as [string, Json][]) {
      const where = `${method.toUpperCase()} ${path}`
      const answer = operation.responses[200]?.content?.['application/json']
      if (answer !== undefined)
        t.ok(answer.examples, `${where} has an example; docs/examples/story.ts tells it`)
      for (const { summary, value } of Object.values(answer?.examples ?? {}) as Json[])
        check(`${where}, ${summary}, answer`, answer.schema, value)
      const body = operation.requestBody?.content['application/json']
      for (const { summary, value } of Object.values(body?.examples ?? {}) as Json[])
        check(`${where}, ${summary}, body`, body.schema, value)
      for (const { name, schema, example } of operation.parameters as Json[])
        if (example !== undefined) check(`${where}, ${name}`, schema, example)
    }
  }
  for (const [name, { content }] of Object.entries(document.components.responses as Json) as [
    string,
    Json,
  ][]) {
    const { schema, example } = content['application/json'] ?? {}
    if (example !== undefined) check(name, schema, example)
  }
  t.ok(checked > 50, `${checked} examples were compared with their schemas`)
})

/** Names and types in an answer, independent of its values. Of the items of a list, each type occurs once. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    const shapes = new Map(value.map(shapeOf).map((shape) => [JSON.stringify(shape), shape]))
    return [...shapes.keys()].sort().map((text) => shapes.get(text))
  }
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  const entries = Object.entries(value).map(([name, member]) => [name, shapeOf(member)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}
