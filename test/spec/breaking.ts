/**
 * What of a change to the interface breaks clients: the rules of docs/compatibility.md, applied to two OpenAPI
 * documents. Pure.
 *
 * Both documents are walked side by side, and each pair of named schemas is compared once in each direction, so the
 * time grows with the size of the documents. A request may only become more permissive, an answer only more precise.
 */

// oxlint-disable-next-line typescript/no-explicit-any -- documents of every shape
type Json = any
/** `request`: what clients send; `answer`: what they read. */
type Direction = 'request' | 'answer'

/** One line for each change that breaks clients of the earlier document, in the order of that document. */
export function breakingChanges(before: Json, after: Json): string[] {
  const comparison = new Comparison(before, after)
  for (const [path, operations] of Object.entries<Json>(before.paths)) {
    for (const [method, operation] of Object.entries<Json>(operations)) {
      const where = `${method.toUpperCase()} ${path}`
      const other = after.paths[path]?.[method]
      if (other === undefined) comparison.report(where, 'the operation is gone')
      else comparison.operations(where, operation, other)
    }
  }
  return [...comparison.found]
}

/** Which levels of key an operation accepts. */
const LEVELS = ['none', 'publishableKey', 'secretKey', 'session']

/** The bounds of a schema: those that may only rise in requests, and those that may only fall. */
const LOWER = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const UPPER = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']

class Comparison {
  readonly found = new Set<string>()
  readonly #before: Json
  readonly #after: Json
  /** Pairs of named schemas that are compared already, or are being compared. */
  readonly #compared = new Set<string>()

  constructor(before: Json, after: Json) {
    this.#before = before
    this.#after = after
  }

  report(where: string, what: string): void {
    this.found.add(`${where}: ${what}`)
  }

  operations(where: string, before: Json, after: Json): void {
    if (before.operationId !== after.operationId)
      this.report(where, `operationId is ${after.operationId}, no longer ${before.operationId}`)
    for (const level of levelsOf(before))
      if (!levelsOf(after).includes(level)) this.report(where, `${level} is no longer accepted`)
    this.#parameters(where, before.parameters ?? [], after.parameters ?? [])
    this.#body(where, before.requestBody, after.requestBody)
    for (const [status, response] of Object.entries<Json>(before.responses)) {
      if (Number(status) >= 400) continue
      const other = after.responses[status]
      if (other === undefined) this.report(where, `the status ${status} is gone`)
      else this.#contents(`${where} → ${status}`, response.content, other.content, 'answer')
    }
  }

  #parameters(where: string, before: readonly Json[], after: readonly Json[]): void {
    const same = (one: Json) => (two: Json) => one.in === two.in && one.name === two.name
    for (const parameter of before) {
      const other = after.find(same(parameter))
      if (other === undefined) this.report(where, `the parameter ${parameter.name} is gone`)
      else this.schemas(`${where} ${parameter.name}`, parameter.schema, other.schema, 'request')
    }
    for (const parameter of after) {
      const wasRequired = before.find(same(parameter))?.required ?? false
      if (parameter.required && !wasRequired)
        this.report(where, `the parameter ${parameter.name} is required now`)
    }
  }

  #body(where: string, before: Json, after: Json): void {
    if (after?.required && !before?.required) this.report(where, 'a body is required now')
    if (before !== undefined) this.#contents(`${where} body`, before.content, after?.content, 'request')
  }

  #contents(where: string, before: Json, after: Json, direction: Direction): void {
    for (const [type, { schema }] of Object.entries<Json>(before ?? {})) {
      const other = after?.[type]
      if (other === undefined) this.report(where, `${type} is gone`)
      else this.schemas(where, schema, other.schema, direction)
    }
  }

  schemas(where: string, before: Json, after: Json, direction: Direction): void {
    if (before.$ref !== undefined && before.$ref === after.$ref) {
      const pair = `${direction} ${before.$ref}`
      if (this.#compared.has(pair)) return
      this.#compared.add(pair)
      where = before.$ref.split('/').at(-1)
    }
    const one = flat(before, this.#before)
    const two = flat(after, this.#after)
    if (one.anyOf !== undefined || two.anyOf !== undefined) this.#choices(where, one, two, direction)
    else this.#simple(where, one, two, direction)
  }

  /** Each alternative that one side may use must be among those of the other side. */
  #choices(where: string, before: Json, after: Json, direction: Direction): void {
    const given = direction === 'request' ? before : after
    const known = direction === 'request' ? after : before
    for (const [i, one] of (given.anyOf ?? [given]).entries()) {
      const fits = (known.anyOf ?? [known]).some((other: Json) => {
        const trial = new Comparison(this.#before, this.#after)
        for (const pair of this.#compared) trial.#compared.add(pair)
        trial.schemas(
          '',
          direction === 'request' ? one : other,
          direction === 'request' ? other : one,
          direction,
        )
        return trial.found.size === 0
      })
      if (fits) continue
      const what = direction === 'request' ? 'is no longer accepted' : 'is new'
      this.report(where, `alternative ${i + 1} (${nameOf(one)}) ${what}`)
    }
  }

  #simple(where: string, before: Json, after: Json, direction: Direction): void {
    const isRequest = direction === 'request'
    this.#types(where, before, after, isRequest)
    this.#values(where, before, after, isRequest)
    this.#members(where, before, after, direction)
    if (before.items !== undefined && after.items !== undefined)
      this.schemas(`${where}[]`, before.items, after.items, direction)
    if (!isRequest) return
    for (const bound of LOWER)
      if (after[bound] > (before[bound] ?? -Infinity)) this.report(where, `${bound} is ${after[bound]} now`)
    for (const bound of UPPER)
      if (after[bound] < (before[bound] ?? Infinity)) this.report(where, `${bound} is ${after[bound]} now`)
    if (after.pattern !== undefined && after.pattern !== before.pattern)
      this.report(where, `the pattern is ${after.pattern} now`)
  }

  #types(where: string, before: Json, after: Json, isRequest: boolean): void {
    const [given, known] = isRequest ? [before, after] : [after, before]
    if (known.type === undefined) return
    const allowed = new Set([known.type].flat())
    for (const type of given.type === undefined ? ['any type'] : [given.type].flat())
      if (!allowed.has(type) && !(type === 'integer' && allowed.has('number')))
        this.report(where, isRequest ? `${type} is no longer accepted` : `${type} is new`)
  }

  /** New values in answers are allowed: the guide asks clients to accept them. */
  #values(where: string, before: Json, after: Json, isRequest: boolean): void {
    const one = valuesOf(before)
    const two = valuesOf(after)
    if (isRequest && two !== undefined)
      for (const value of one ?? ['any value'])
        if (!two.includes(value)) this.report(where, `${value} is no longer accepted`)
    if (!isRequest && one !== undefined && two === undefined) this.report(where, 'any value is possible now')
  }

  #members(where: string, before: Json, after: Json, direction: Direction): void {
    const isRequest = direction === 'request'
    for (const [name, schema] of Object.entries<Json>(before.properties ?? {})) {
      const other = after.properties?.[name]
      if (other === undefined) this.report(where, `${name} is gone`)
      else this.schemas(`${where}.${name}`, schema, other, direction)
    }
    const required = (schema: Json): string[] => schema.required ?? []
    const [given, wanted] = isRequest ? [after, before] : [before, after]
    for (const name of required(given)) {
      if (required(wanted).includes(name)) continue
      if (isRequest) this.report(where, `${name} is required now`)
      else if (after.properties?.[name] !== undefined) this.report(where, `${name} may be missing now`)
    }
    if (isRequest && after.additionalProperties === false && before.additionalProperties !== false)
      this.report(where, 'unknown members are no longer accepted')
  }
}

function levelsOf(operation: Json): string[] {
  const named = (operation.security ?? []).flatMap((one: Json) => Object.keys(one))
  // Who needs no key may send one, and a secret key may be sent wherever a publishable one may.
  if (named.length === 0) return LEVELS
  return named.includes('publishableKey') ? [...named, 'secretKey'] : named
}

/** A schema without references and `allOf` at its top. */
function flat(schema: Json, document: Json): Json {
  let here = schema
  while (here.$ref !== undefined) {
    here = here.$ref
      .slice(2)
      .split('/')
      .reduce((node: Json, key: string) => node[key], document)
  }
  if (here.allOf === undefined) return here
  const parts = [{ ...here, allOf: undefined }, ...here.allOf.map((part: Json) => flat(part, document))]
  return {
    ...Object.assign({}, ...parts),
    properties: Object.assign({}, ...parts.map((part) => part.properties)),
    required: parts.flatMap((part) => part.required ?? []),
    allOf: undefined,
  }
}

function valuesOf(schema: Json): Json[] | undefined {
  return schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
}

function nameOf(schema: Json): string {
  return schema.$ref?.split('/').at(-1) ?? schema.const ?? schema.type ?? 'any'
}
