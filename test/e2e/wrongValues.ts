/**
 * Makes values that the OpenAPI document does not allow: of another type, out of the range, too long, not in the list, or not
 * in the form that the name of the parameter stands for. The server must refuse each with a 400 that names the parameter.
 */
import { KEYS } from '../kit/server.ts'
import type { Api, Json, Operation } from './contract.ts'
import { casesOf, type Known } from './requiredFields.ts'
import { all, overdue } from './strict.ts'

/** Longer texts do not fit into the address of a request. */
const MOST_CHARS = 8000

const POSITIONS = ['x', '50', '91,0', '0,181', '1,2,3', 'NaN,0', '1e999,0']
const PATHS = ['x', '1', '91,0', '0,181', '1,2,3']
const DATES = ['soon', '2026-13-01', '2026-02-30T00:00:00Z']
const COUNTRIES = ['U', 'USA', 'XX']
const LAYERS = ['planet', 'address,,__proto__']
const LANGUAGES = ['xx', 'constructor']

/** Texts that are wrong for the parameters of a query with this name, whatever their schema. */
const FORMS: Readonly<Record<string, readonly string[]>> = {
  near: POSITIONS,
  coordinates: POSITIONS,
  origin: POSITIONS,
  destination: POSITIONS,
  origins: PATHS,
  destinations: PATHS,
  locations: PATHS,
  box: ['x', '1,2,3', '1,2,3,x'],
  modes: ['plane', 'car,plane'],
  avoid: ['cows', 'tolls,cows'],
  departureTime: DATES,
  from: DATES,
  to: DATES,
  createdBefore: DATES,
  createdAfter: DATES,
  updatedBefore: DATES,
  updatedAfter: DATES,
  country: COUNTRIES,
  countryCode: COUNTRIES,
  stateCode: ['N', '12'],
  layers: LAYERS,
  lang: LANGUAGES,
  iataCode: ['XX', 'JFKX'],
  types: ['a,,b'],
}

/** Texts that are wrong for the date of a body with this name. */
const BODY_DATES = new Set([
  'updatedAt',
  'createdAt',
  'disableAfter',
  'deleteAfter',
  'scheduledArrivalAt',
  'oldKeyValidUntil',
])

/** What a query needs besides the parameter under test, by the name of the parameter. */
const NEEDED: Readonly<Record<string, string>> = {
  near: '-34.9,-56.2',
  coordinates: '-34.9,-56.2',
  origin: '-34.9,-56.2',
  destination: '-34.91,-56.2',
  origins: '-34.9,-56.2',
  destinations: '-34.91,-56.2',
  locations: '-34.9,-56.2|-34.91,-56.2',
  mode: 'car',
  modes: 'car',
  query: 'x',
  box: '1,1,2,2',
  zoom: '3',
  minutes: '10',
  expectedCount: '0',
  city: 'New York',
  stateCode: 'NY',
  postalCode: '10003',
  countryCode: 'US',
}

/** Its parameters are lists of names and the id of an event, whatever they are called elsewhere. It never ends if it is accepted. */
const EVENT_STREAM = '/v1/events/stream'

/** Fields that take any text, which stands for no or for the usual number. */
const LENIENT = new Set(['nearbyGeofences'])

/** Their addresses are also those of a pair, of which a tag that is too long is refused. */
const ALSO_PAIRS = new Set(['/v1/geofences/{id}/users', '/v1/beacons/{id}/users'])

/** The same for one operation. */
const ALSO: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'GET /v1/search/places': { near: '-34.9,-56.2', chains: 'x' },
  'GET /v1/addresses/validate': { addressLabel: '841 Broadway' },
  'PATCH /v1/geofences': { tag: 'nothing-has-it' },
  'DELETE /v1/geofences': { tag: 'nothing-has-it' },
  'PATCH /v1/beacons': { tag: 'nothing-has-it' },
  'DELETE /v1/beacons': { tag: 'nothing-has-it' },
}

/** A value, with what is wrong about it. */
type Wrong = readonly [what: string, value: unknown]

/** The alternatives of a schema, one for each type that it allows. */
function alternativesOf(api: Api, schema: Json): Json[] {
  const resolved = api.resolve(schema)
  return resolved.anyOf === undefined
    ? [resolved]
    : resolved.anyOf.flatMap((one: Json) => alternativesOf(api, one))
}

const typeOf = (value: unknown) =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : (typeof value as string)

/** Values of a body that a schema does not allow. None where it allows everything. */
function wrongInBody(api: Api, name: string, schema: Json): Wrong[] {
  const allowed = alternativesOf(api, schema)
  const words = allowed.flatMap((one) => one.enum ?? (one.const === undefined ? [] : [one.const]))
  const types = new Set(
    allowed.map(({ type }) => (type === 'integer' ? 'number' : type)).concat(words.map(typeOf)),
  )
  if (types.has(undefined) && words.length === 0) return []
  const wrong: Wrong[] = [5, true, 'no such value', [{ no: 'such' }], { no: { such: 'value' } }]
    .filter((value) => !types.has(typeOf(value)))
    .map((value) => [`a value of type ${typeOf(value)}`, value])
  if (words.length > 0) {
    if (types.has('string')) wrong.push(['no such word', 'no such value'])
    if (types.has('number')) wrong.push(['no such number', 17])
  }
  const number = allowed.find(({ type }) => type === 'number' || type === 'integer')
  if (number !== undefined) wrong.push(...outOfRange(number))
  if (LENIENT.has(name)) return wrong
  const text = allowed.find((one) => one.type === 'string')
  const isText = text !== undefined && !types.has('object') && !types.has('array')
  if (isText && text.maxLength !== undefined)
    wrong.push([`more than ${text.maxLength} characters`, 'x'.repeat(text.maxLength + 1)])
  if (isText && text.maxLength !== undefined && !types.has('boolean') && words.length === 0)
    wrong.push(['a NUL', 'a\0b'], ['half a character', 'a\ud800'])
  if (types.has('boolean') && types.has('string')) wrong.push(['no boolean', 'perhaps'])
  if (number !== undefined && isText && !BODY_DATES.has(name)) wrong.push(['no number', 'wide'])
  if (BODY_DATES.has(name)) for (const date of DATES) wrong.push(['no date', date])
  const list = allowed.find(({ type }) => type === 'array')
  if (list?.maxItems !== undefined)
    wrong.push([`more than ${list.maxItems} items`, Array.from({ length: list.maxItems + 1 }, () => 'x')])
  return wrong
}

function outOfRange({ type, minimum, maximum, exclusiveMinimum }: Json): Wrong[] {
  const wrong: Wrong[] = []
  if (minimum !== undefined) wrong.push([`below ${minimum}`, minimum - 0.001])
  if (maximum !== undefined) wrong.push([`above ${maximum}`, maximum + (type === 'integer' ? 1 : 0.001)])
  if (exclusiveMinimum !== undefined)
    wrong.push([`${exclusiveMinimum}`, exclusiveMinimum], [`below ${exclusiveMinimum}`, exclusiveMinimum - 1])
  if (type === 'integer') wrong.push(['no whole number', (minimum ?? 0) + 0.5])
  return wrong
}

/**
 * Texts of a query or path that a schema does not allow.
 * @param known further texts that are wrong
 */
function wrongInQuery(
  api: Api,
  name: string,
  schema: Json,
  known: readonly string[],
): [what: string, text: string][] {
  const allowed = alternativesOf(api, schema)
  const forms = known.map((text): [string, string] => ['', text])
  const isDate = FORMS[name] === DATES
  for (const one of allowed) {
    const { type, maxLength } = one
    if (one.enum !== undefined) forms.push(['no such word', 'x'])
    else if (type === 'boolean') forms.push(['no boolean', 'perhaps'])
    else if ((type === 'number' || type === 'integer') && !isDate)
      for (const text of ['x', 'NaN', '1e999', '-1e999']) forms.push(['no number', text])
    if (type === 'number' || type === 'integer')
      for (const [what, value] of outOfRange(one)) forms.push([what, String(value)])
    if (maxLength !== undefined && maxLength < MOST_CHARS && one.enum === undefined)
      forms.push([`more than ${maxLength} characters`, 'x'.repeat(maxLength + 1)])
    if (type === 'object') forms.push(['no dictionary', 'x'])
  }
  return forms
}

/** Whether the refusal names this parameter, or something in it. */
function isNamed({ status, body }: Json, name: string): boolean {
  if (status !== 400) return false
  const { param, message } = body.meta
  return (param === name || param.startsWith(`${name}.`)) && message.startsWith(`${param}: `)
}

const shown = (value: unknown) => JSON.stringify(value).slice(0, 60)

/** Names and definitions of which everything wrong was tried; elsewhere one value is enough. */
export type Walked = Set<string>

function isNew(walked: Walked, key: string): boolean {
  if (walked.has(key)) return false
  walked.add(key)
  return true
}

/** The wrong values in a body that are not refused with the name of the parameter, one sentence each. */
export async function bodyFaultsOf(
  api: Api,
  operation: Operation,
  schema: Json,
  known: Known,
  walked: Walked,
): Promise<{ readonly tried: number; readonly faults: readonly string[] }> {
  const requests: [name: string, what: string, value: unknown, body: Json][] = []
  const seen = new Set<string>()
  for (const { body, unknown, missing } of casesOf(api, schema, known)) {
    if (unknown !== undefined) continue
    const isRequired = (name: string) =>
      missing.some(({ path, blamed }) => path.length === 1 && blamed === name && path[0] === name)
    for (const name of Object.keys(body)) {
      const property = schema.properties[name]
      if (seen.has(name) || property === undefined) continue
      seen.add(name)
      const wrong = wrongInBody(api, name, property)
      if (isRequired(name)) wrong.push(['null', null])
      const values = isNew(walked, `body ${name} ${JSON.stringify(property)}`) ? wrong : wrong.slice(0, 1)
      for (const [what, value] of values) requests.push([name, what, value, { ...body, [name]: value }])
    }
  }
  const faults: string[] = []
  await all(requests, async ([name, what, value, body]) => {
    const answer = await api.call(operation.method, known.place, body, KEYS.testSecret)
    if (!isNamed(answer, name))
      faults.push(
        `${operation.method} ${operation.path} ${name}: ${shown(value)} (${what}): ${answer.status} ${answer.body.meta?.message}`,
      )
  })
  return { tried: requests.length, faults }
}

/**
 * The same for the query and path of an operation. A required parameter is also left out.
 * @param id of a record that exists, for a path with `{id}`
 */
export async function queryFaultsOf(
  api: Api,
  operation: Operation,
  walked: Walked,
  id = 'nobody',
): Promise<{ readonly tried: number; readonly faults: readonly string[] }> {
  const parameters: Json[] = (operation.definition.parameters ?? []).map((one: Json) => api.resolve(one))
  const inQuery = parameters.filter((one) => one.in === 'query')
  const good: Record<string, string> = { ...ALSO[`${operation.method} ${operation.path}`] }
  for (const { name, required } of inQuery) {
    if (!required) continue
    if (NEEDED[name] === undefined) throw new Error(`no value is known for ${operation.path} ${name}`)
    good[name] = NEEDED[name]
  }
  const requests: [name: string, what: string, address: string][] = []
  const addressOf = (query: Readonly<Record<string, string>>, segments: Readonly<Record<string, string>>) => {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) =>
      encodeURIComponent(segments[name] ?? (name === 'id' ? id : 'nobody')),
    )
    return `${path}?${new URLSearchParams(query).toString()}`
  }
  for (const { name, in: where, required, schema } of parameters) {
    if (where !== 'query' && where !== 'path') continue
    if (where === 'path' && ALSO_PAIRS.has(operation.path)) continue
    const hasForm = where === 'query' && operation.path !== EVENT_STREAM
    const wrong = wrongInQuery(api, name, schema, (hasForm && FORMS[name]) || [])
    const values = isNew(walked, `${where} ${name} ${JSON.stringify(schema)}`) ? wrong : wrong.slice(0, 1)
    for (const [what, text] of values)
      requests.push([
        name,
        `${shown(text)} (${what})`,
        where === 'query' ? addressOf({ ...good, [name]: text }, {}) : addressOf(good, { [name]: text }),
      ])
    if (where === 'query' && required) {
      const { [name]: _, ...rest } = good
      requests.push([name, 'left out', addressOf(rest, {})])
      requests.push([name, 'empty', addressOf({ ...good, [name]: '' }, {})])
    }
  }
  const faults: string[] = []
  // Changes of many records need one.
  const body = operation.definition.requestBody === undefined ? undefined : { enabled: true }
  await all(requests, async ([name, what, address]) => {
    const where = `${operation.method} ${operation.path} ${name}: ${what}`
    const asked = api.call(operation.method, address, body, KEYS.testSecret)
    const answer = await Promise.race([asked, overdue(where)])
    if (!isNamed(answer, name)) faults.push(`${where}: ${answer.status} ${answer.body.meta?.message}`)
  })
  return { tried: requests.length, faults }
}
