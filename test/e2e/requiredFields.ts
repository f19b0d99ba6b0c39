/**
 * Makes bodies from the OpenAPI document and leaves out one field at a time. The server must report a missing field
 * by name if the document requires it, and accept the body otherwise.
 */
import { KEYS } from '../kit/server.ts'
import type { Api, Json, Operation } from './contract.ts'

/** A value for each field of a body. If a name has several meanings, its key contains the path. */
export type Values = Readonly<Record<string, Json>>

/** What is known about an operation beyond its schema. */
export interface Known {
  readonly values: Values
  /** `tag/externalId` and other parameters of the path. */
  readonly place: string
  /**
   * Fields whose value is not in the data of the server, with the field beside which that does not matter: otherwise a
   * 400 that names them. Keys as in {@link values}.
   */
  readonly unknown: Readonly<Record<string, string>>
  /**
   * Statuses besides 200 that count as success, for example because a record that the body names does not exist or is
   * busy.
   */
  readonly taken: readonly number[]
  /** Runs after a body was accepted, and makes the next request possible. */
  readonly undo: (answer: Json) => Promise<void>
}

/** A field, named by the path from the body to it. A list's first item stands for all items. */
type Path = readonly string[]

interface Missing {
  readonly path: Path
  /** The field that the refusal names. Undefined if the body is accepted without it. */
  readonly blamed: string | undefined
}

/** One body with all fields that can be combined, and the expected result without each of them. */
export interface Case {
  readonly body: Json
  /** Then it is refused, whatever is left out. */
  readonly unknown: string | undefined
  readonly missing: readonly Missing[]
}

/** How a body is sent. */
export type Format = 'json' | 'form'

/**
 * The differences between the server and a body's schema, one sentence each.
 * @param most cases that are tried
 */
export async function faultsOf(
  api: Api,
  operation: Operation,
  schema: Json,
  known: Known,
  formats: readonly Format[],
  most = Infinity,
): Promise<string[]> {
  const faults: string[] = []
  const send = async (body: Json, format: Format) => {
    const headers: Record<string, string> =
      format === 'form' ? { 'content-type': 'application/x-www-form-urlencoded' } : {}
    const content = format === 'form' ? formOf(body) : body
    const answer = await api.call(operation.method, known.place, content, KEYS.testSecret, headers)
    if (answer.status === 200) await known.undo(answer.body)
    return answer
  }
  for (const { body, unknown, missing } of casesOf(api, schema, known).slice(0, most)) {
    for (const format of formats) {
      const told = (what: string, { status, body: answer }: Json) =>
        faults.push(
          `${operation.method} ${operation.path} as ${format}, ${what}: ${status} ${answer.meta?.message}`,
        )
      const taken = ({ status, body: answer }: Json) =>
        unknown === undefined
          ? [200, ...known.taken].includes(status)
          : status === 400 && answer.meta.param === unknown
      const whole = await send(body, format)
      if (!taken(whole)) told(`all of ${Object.keys(body)}`, whole)
      for (const { path, blamed } of missing) {
        const rest = without(body, path)
        const answer = await send(rest, format)
        const name = path.join('.')
        // An empty form is not a body at all.
        const expected = format === 'form' && Object.keys(rest).length === 0 ? 'body' : blamed
        if (blamed === undefined && !taken(answer)) told(`without the optional ${name}`, answer)
        const isRefused = answer.status === 400 && answer.body.meta.param === expected
        if (blamed !== undefined && !isRefused) told(`without the required ${name}`, answer)
      }
    }
  }
  return faults
}

/**
 * One case for each value that decides which fields are required, and for each field of a group of which one is
 * required.
 */
export function casesOf(api: Api, schema: Json, known: Known): Case[] {
  const conditions = ((schema.allOf ?? []) as Json[]).filter((part) => part.if !== undefined)
  const always = ((schema.allOf ?? []) as Json[]).filter((part) => part.if === undefined)
  if (conditions.length === 0) return casesFor(api, schema, always, {}, known)
  return conditions.flatMap((condition) => {
    const [[member, { const: word }]] = Object.entries<Json>(condition.if.properties) as [[string, Json]]
    return casesFor(api, schema, [...always, condition.then], { [member]: word }, known)
  })
}

function casesFor(api: Api, schema: Json, needs: readonly Json[], fixed: Json, known: Known): Case[] {
  const required = new Set<string>([schema, ...needs].flatMap((need) => need.required ?? []))
  const groups = needs
    .flatMap((need) => [need, ...(need.allOf ?? [])])
    .filter((need) => need.anyOf !== undefined)
    .map((need) => need.anyOf.flatMap((one: Json) => one.required) as string[])
  // One field of each group, because several may contradict each other.
  let choices: string[][] = [[]]
  for (const group of groups) choices = choices.flatMap((chosen) => group.map((name) => [...chosen, name]))
  const of = Object.values(fixed)[0]
  return choices.map((chosen) => {
    const left = new Set(groups.flat().filter((name) => !chosen.includes(name)))
    /** The group of which nothing is left without a field. */
    const unmetWithout = (name: string) =>
      groups.find((group) => !group.some((one) => one !== name && chosen.includes(one)))
    const missing: Missing[] = []
    const members: [string, Json][] = []
    for (const [name, part] of Object.entries<Json>(schema.properties)) {
      if (left.has(name)) continue
      const value = fixed[name] ?? known.values[`${of}.${name}`] ?? known.values[name]
      if (value === undefined) throw new Error(`no value is known for ${known.place} ${name}`)
      members.push([name, value])
      const isNeeded =
        required.has(name) ||
        isNeededBeside(schema, name) ||
        chosen.some((one) => needs.some(({ dependentRequired }) => dependentRequired?.[one]?.includes(name)))
      missing.push({ path: [name], blamed: unmetWithout(name)?.[0] ?? (isNeeded ? name : undefined) })
      missing.push(...missingInItems(api, name, part))
    }
    return {
      body: Object.fromEntries(members),
      unknown: chosen.find((name) => {
        const beside = known.unknown[`${of}.${name}`] ?? known.unknown[name]
        return beside !== undefined && !chosen.includes(beside)
      }),
      missing,
    }
  })
}

/** Fields of the objects in a list. */
function missingInItems(api: Api, name: string, part: Json): Missing[] {
  const items = api.resolve(part.items ?? {})
  return Object.keys(items.properties ?? {}).map((member) => ({
    path: [name, '0', member],
    blamed:
      items.required?.includes(member) || isNeededBeside(items, member) ? `${name}.0.${member}` : undefined,
  }))
}

/** Whether another field, which all these bodies have, requires it. */
function isNeededBeside({ dependentRequired = {} }: Json, name: string): boolean {
  return Object.values<Json>(dependentRequired).some((names) => names.includes(name))
}

function without(value: Json, [name, ...inner]: Path): Json {
  const copy = Array.isArray(value) ? [...value] : { ...value }
  if (inner.length === 0) delete copy[name!]
  else copy[name!] = without(copy[name!], inner)
  return copy
}

/** Lists and objects as JSON text. */
function formOf(body: Json): string {
  const texts = Object.entries<Json>(body).map(([name, value]): [string, string] => [
    name,
    typeof value === 'object' ? JSON.stringify(value) : String(value),
  ])
  return new URLSearchParams(texts).toString()
}
