import type { TSchema } from 'typebox'
import { Check } from 'typebox/schema'
import { badParam, type ApiError } from '../runtime/errors.ts'
import { pathText } from './cleanValue.ts'

/**
 * The required members of an object, as JSON Schema, so that the document and the refusals have one source. What goes
 * beyond `required` is given to a schema as its `allOf`: see {@link atLeastOne} and {@link neededBy}.
 */
export interface Needs {
  readonly required?: readonly string[]
  /** For an optional member, the members that it requires. */
  readonly dependentRequired?: Readonly<Record<string, readonly string[]>>
  /** At least one of these must hold. */
  readonly anyOf?: readonly Needs[]
  readonly allOf?: readonly (Needs | Condition)[]
}

interface Condition {
  readonly if: {
    readonly required: readonly [string]
    readonly properties: Readonly<Record<string, { readonly const: string }>>
  }
  readonly then: Needs
}

/** At least one of the members; the error names the first if there is none. */
export function atLeastOne(...names: readonly string[]): Needs {
  return { anyOf: names.map((name) => ({ required: [name] })) }
}

/** Members that are required by the value of another member: `{circle: {required: ['radius']}}`. */
export function neededBy(member: string, needs: Readonly<Record<string, Needs>>): Condition[] {
  return Object.entries(needs).map(([word, then]) => ({
    if: { required: [member], properties: { [member]: { const: word } } },
    // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema's word
    then,
  }))
}

/**
 * The error 400 of the first required member that is absent, or undefined.
 * @param path the path of the object
 * @param why the end of the sentence: ` for a circle`
 */
export function missingMember(
  needs: Needs,
  object: Readonly<Record<string, unknown>>,
  path: readonly string[] = [],
  why = '',
): ApiError | undefined {
  const isAbsent = (name: string): boolean => object[name] === undefined
  const blame = (name: string, sentence: string) => badParam(pathText([...path, name]), sentence)
  const absent = needs.required?.find(isAbsent)
  if (absent !== undefined) return blame(absent, `Required${why}.`)
  const names = needs.anyOf?.flatMap(({ required = [] }) => required) ?? []
  if (names.length > 0 && names.every(isAbsent)) {
    const list = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
    return blame(names[0]!, `One of ${list} is required${why}.`)
  }
  for (const [name, others] of Object.entries(needs.dependentRequired ?? {})) {
    const other = isAbsent(name) ? undefined : others.find(isAbsent)
    if (other !== undefined) return blame(other, `Required with ${name}.`)
  }
  for (const part of needs.allOf ?? []) {
    const error =
      'if' in part
        ? Check(part.if as TSchema, object)
          ? missingMember(part.then, object, path, ` for ${wordOf(part)}`)
          : undefined
        : missingMember(part, object, path, why)
    if (error !== undefined) return error
  }
  return undefined
}

/** The condition in words: `a circle`, `an isochrone`. */
function wordOf(condition: Condition): string {
  const word = Object.values(condition.if.properties)[0]!.const
  return `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`
}
