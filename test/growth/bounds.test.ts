/**
 * Every text parameter has a documented bound. A text that is one character longer is refused with the name of the
 * parameter and the bound, so that no long text is processed.
 */
import t from 'tap'
import { startApi, type Json } from '../e2e/contract.ts'

const api = await startApi(t)

interface Parameter {
  readonly name: string
  readonly schema: Json
}

/** Resolves references into the document. */
const { body: openapi } = await api.server.api('GET', '/v1/openapi.json')
function resolved(schema: Json): Json {
  if (schema.$ref === undefined) return schema
  const path: string[] = schema.$ref.split('/').slice(1)
  return path.reduce((place, name) => place[name], openapi)
}

/** The schemas that a value may have. */
function variantsOf(given: Json): Json[] {
  const schema = resolved(given)
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(variantsOf)
}

/**
 * Names of texts without a bound within a parameter. JSON text in place of a list or dictionary is limited by the
 * size of the body.
 */
function unbounded({ name, schema }: Parameter): string[] {
  const variants = variantsOf(schema)
  const isJson = variants.some(({ type }) => type === 'array' || type === 'object')
  return variants.flatMap((one) => {
    const { type, maxLength, enum: words, const: word, items, properties = {}, additionalProperties } = one
    const isWord = words !== undefined || word !== undefined
    const members = Object.entries<Json>({ ...properties, ...one.patternProperties })
    if (typeof additionalProperties === 'object') members.push(['*', additionalProperties])
    if (items !== undefined && !Array.isArray(items)) members.push(['0', items])
    const here = type === 'string' && maxLength === undefined && !isWord && !isJson ? [name] : []
    return [
      ...here,
      ...members.flatMap(([key, member]) => unbounded({ name: `${name}.${key}`, schema: member })),
    ]
  })
}

/** A value that fits the schema, so that no missing required field is reported before the parameter under test. */
function valueOf(schema: Json): Json {
  const [{ type, const: word, minimum = 1 }] = variantsOf(schema) as [Json]
  return word ?? { string: 'x', array: [], object: {}, boolean: true }[type as string] ?? minimum
}

let refused = 0

for (const { method, path, definition } of api.operations) {
  const inQuery: Parameter[] = (definition.parameters ?? [])
    .map(resolved)
    .filter((one: Json) => one.in === 'query')
  const content = definition.requestBody?.content['application/json']
  const inBody: Parameter[] = Object.entries<Json>(
    content === undefined ? {} : (resolved(content.schema).properties ?? {}),
  ).map(([name, schema]) => ({ name, schema }))
  if (inQuery.length + inBody.length === 0) continue
  const needed: string[] = content === undefined ? [] : (resolved(content.schema).required ?? [])
  const others = inBody.filter(({ name }) => needed.includes(name))
  const beside = Object.fromEntries(others.map(({ name, schema }) => [name, valueOf(schema)]))
  t.test(`${method} ${path}`, async (t) => {
    for (const parameter of [...inQuery, ...inBody]) {
      t.strictSame(unbounded(parameter), [], `${parameter.name} is bounded`)
      const [length] = variantsOf(parameter.schema).flatMap(({ maxLength }) => maxLength ?? [])
      // A URL cannot hold more.
      if (length === undefined || length > 16_000) continue
      const text = 'x'.repeat(length + 1)
      const isQuery = inQuery.includes(parameter)
      const target = path.replaceAll(/\{\w+\}/g, 'x') + (isQuery ? `?${parameter.name}=${text}` : '')
      const body = isQuery ? undefined : { ...beside, [parameter.name]: text }
      const { status, body: answer } = await api.server.api(method, target, body)
      // The error may name another missing parameter first, and the record may not exist.
      if (status !== 400 || answer.meta.param !== parameter.name) continue
      refused++
      t.match(answer.meta.message, `at most ${length} characters`, parameter.name)
    }
  })
}

t.test('most refusals name the parameter', async (t) => {
  t.ok(refused > 100, `${refused}`)
})
