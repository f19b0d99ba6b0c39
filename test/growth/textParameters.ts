/**
 * All text parameters of the server's own OpenAPI document, so that new ones are found, too: those of paths and
 * queries, and texts anywhere in a JSON body. Each is placed in a request whose other parts are good.
 */
import type { Api, Json, Operation } from '../e2e/contract.ts'
import { AIMS, type Aimed } from '../fuzz/aims.ts'
import { bodySchema, textOf } from '../fuzz/bodies.ts'
import { escaped } from '../fuzz/placeholders.ts'
import { valuesOf } from '../fuzz/schema.ts'
import { HINTED } from '../fuzz/values.ts'
import fc from '../kit/fastCheck.ts'
import { urlText } from './hostileTexts.ts'

export interface TextParameter {
  /** `query near`, `body legs.0.destination.externalId` */
  readonly name: string
  readonly isInBody: boolean
  /** The most characters that the document allows; undefined if it names no bound. */
  readonly longest: number | undefined
  /** A request with this text in place of the parameter. It may contain placeholders of the fuzzer. */
  readonly request: (text: string) => SentRequest
}

export interface SentRequest {
  readonly target: string
  /** JSON. */
  readonly body: string | undefined
}

/** A member on the way to a text within a body. */
interface Step {
  readonly key: string | number
  /** The schema of the object or list that has the member. */
  readonly holder: Json
}

interface TextInBody {
  readonly steps: readonly Step[]
  readonly longest: number | undefined
}

/** Texts that are nested deeper than this are left out: schemas may contain themselves. */
const MOST_STEPS = 7
/** The good parts of requests are the same in each run. */
const SEED = 1
/** The kind of a record whose id is in the path. */
const KIND = /^\/v1\/(user|geofence|beacon|event|webhook|hook|trip|account|session)s/

export function textParametersOf(api: Api, operation: Operation): readonly TextParameter[] {
  const resolve = (schema: Json): Json => api.resolve(schema)
  const sample = (schema: Json, name = ''): Json =>
    fc.sample(valuesOf(schema, resolve, HINTED, name), { numRuns: 1, seed: SEED })[0]
  const good = goodParts(operation, sample)
  const path = good.path ?? ''
  const query = good.query ?? {}
  const parameters: readonly Json[] = (operation.definition.parameters ?? []).map(resolve)
  const targetOf = (pathText: string, pairs: Readonly<Record<string, unknown>>, more = '') => {
    const texts = Object.entries(pairs).map(([name, value]) => `${name}=${escaped(textOf(value))}`)
    if (more !== '') texts.push(more)
    return texts.length === 0 ? pathText : `${pathText}?${texts.join('&')}`
  }
  const body = good.body === undefined ? undefined : JSON.stringify(good.body)
  const found: TextParameter[] = []
  for (const { name, schema, in: place } of parameters) {
    const longest = longestOf(schema, resolve)
    if (place === 'path')
      found.push({
        name: `path ${name}`,
        isInBody: false,
        longest,
        request: (text) => ({
          target: targetOf(inPath(operation.path, path, name, urlText(text)), query),
          body,
        }),
      })
    if (place !== 'query') continue
    const { [name]: _, ...others } = query
    const isDictionary = variantsOf(schema, resolve).some(({ type }) => type === 'object')
    found.push({
      name: `query ${name}`,
      isInBody: false,
      longest,
      request: (text) => ({
        target: targetOf(path, others, `${name}${isDictionary ? '[key]' : ''}=${urlText(text)}`),
        body,
      }),
    })
  }
  const schema = bodySchema(operation)
  if (schema === undefined) return found
  const names = new Set<string>()
  for (const { steps, longest } of textsIn(schema, resolve, [])) {
    const name = `body ${steps.map(({ key }) => key).join('.')}`
    if (steps.length === 0 || names.has(name)) continue
    names.add(name)
    const target = targetOf(path, query)
    const request = (text: string) => ({
      target,
      body: JSON.stringify(withText(good.body, steps, text, sample)),
    })
    found.push({ name, isInBody: true, longest, request })
  }
  return found
}

/** The parts of a good request. */
function goodParts(operation: Operation, sample: (schema: Json, name?: string) => Json): Aimed {
  const { method, path, definition } = operation
  const aim = AIMS[`${method} ${path}`]
  const aimed: Aimed = aim === undefined ? {} : fc.sample(aim, { numRuns: 1, seed: SEED })[0]!
  const parameters: readonly Json[] = definition.parameters ?? []
  const kind = KIND.exec(path)?.[1]
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (name === 'id' && kind !== undefined) return `§${kind}:0§`
    const parameter = parameters.find((one) => one.name === name)
    return escaped(textOf(sample(parameter!.schema, name)))
  })
  const needed = parameters.filter(({ in: place, required }) => place === 'query' && required)
  const query = Object.fromEntries(needed.map(({ name, schema }) => [name, sample(schema, name)]))
  const schema = bodySchema(operation)
  const body = 'body' in aimed ? aimed.body : schema && sample(schema)
  return { path: aimed.path ?? filled, query: aimed.query ?? query, body }
}

/** A good path with the text in place of a parameter. */
function inPath(pattern: string, good: string, name: string, text: string): string {
  const parts = good.split('/')
  return pattern
    .split('/')
    .map((part, i) => (part.includes(`{${name}}`) ? part.replace(`{${name}}`, () => text) : parts[i]))
    .join('/')
}

/** The schemas that a value may have. */
function variantsOf(given: Json, resolve: (schema: Json) => Json): Json[] {
  const schema = given.$ref === undefined ? given : resolve(given)
  const variants: Json[] | undefined = schema.anyOf ?? schema.oneOf
  return variants === undefined ? [schema] : variants.flatMap((one) => variantsOf(one, resolve))
}

function longestOf(schema: Json, resolve: (schema: Json) => Json): number | undefined {
  const lengths = variantsOf(schema, resolve).flatMap(({ maxLength }) => maxLength ?? [])
  return lengths.length === 0 ? undefined : Math.max(...lengths)
}

function* textsIn(
  schema: Json,
  resolve: (schema: Json) => Json,
  steps: readonly Step[],
): Generator<TextInBody> {
  const variants = variantsOf(schema, resolve)
  const isText = (one: Json) => one.type === 'string' && one.const === undefined && one.enum === undefined
  if (variants.some(isText)) yield { steps, longest: longestOf(schema, resolve) }
  if (steps.length === MOST_STEPS) return
  for (const holder of variants) {
    const { properties = {}, patternProperties = {}, additionalProperties, items } = holder
    for (const [key, member] of Object.entries(properties))
      yield* textsIn(member as Json, resolve, [...steps, { key, holder }])
    const open: Json[] = Object.values(patternProperties)
    if (typeof additionalProperties === 'object') open.push(additionalProperties)
    for (const member of open) yield* textsIn(member, resolve, [...steps, { key: 'key', holder }])
    if (items !== undefined && !Array.isArray(items))
      yield* textsIn(items, resolve, [...steps, { key: 0, holder }])
  }
}

/** The value with the text at the end of the steps. What does not fit the schemas on the way is replaced. */
function withText(
  value: Json,
  [step, ...rest]: readonly Step[],
  text: string,
  sample: (schema: Json) => Json,
): Json {
  if (step === undefined) return text
  const { key, holder } = step
  const own = fits(value, step) ? value : sample(holder)
  if (typeof key === 'number') {
    const list = Array.isArray(own) ? own : []
    return [withText(list[0], rest, text, sample), ...list.slice(1)]
  }
  return { ...own, [key]: withText(own?.[key], rest, text, sample) }
}

function fits(value: Json, { key, holder }: Step): boolean {
  if (typeof key === 'number') return Array.isArray(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const words = Object.entries<Json>(holder.properties ?? {}).filter(([, one]) => one.const !== undefined)
  return words.every(([name, one]) => value[name] === one.const)
}
