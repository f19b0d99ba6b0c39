type Json = Record<string, unknown>

/**
 * Turns a choice of words, if it is one, into a list of them, so that the reference offers them instead of a text
 * field.
 */
function asOneOfWords(schema: Json): void {
  const { anyOf } = schema
  if (!Array.isArray(anyOf) || anyOf.some((one: Json) => typeof one.const !== 'string')) return
  delete schema.anyOf
  schema.type = 'string'
  schema.enum = anyOf.map((one: Json) => one.const)
}

/**
 * A plain copy of a schema, in which members with a default are optional. A schema with a title is put into `schemas`,
 * and a reference to `#/components/schemas/` stands in its place.
 * @throws Error where two different schemas share a title
 */
export function toJsonSchema(value: unknown, schemas: Record<string, Json>): unknown {
  if (Array.isArray(value)) return value.map((item) => toJsonSchema(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const copy: Json = {}
  for (const [key, member] of Object.entries(value)) {
    copy[key] = key === 'default' || key === 'examples' ? member : toJsonSchema(member, schemas)
  }
  if (copy.type === 'object' && Array.isArray(copy.required)) {
    const properties = copy.properties as Record<string, Json>
    const required = copy.required.filter((name: string) => properties[name]?.default === undefined)
    if (required.length > 0) copy.required = required
    else delete copy.required
  }
  asOneOfWords(copy)
  const { title } = copy
  if (typeof title !== 'string') return copy
  const name = title.replaceAll(/\W+/g, '')
  const known = schemas[name]
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(copy)) {
    throw new Error(`Two different schemas are titled "${title}".`)
  }
  schemas[name] = copy
  return { $ref: `#/components/schemas/${name}` }
}
