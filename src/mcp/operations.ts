import type { Tool } from './tools.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- a document of every shape
type Json = any

/** A tool, and its operation in the server's OpenAPI document. */
export interface ToolOperation extends Tool {
  readonly description: string
  /** The JSON schema of the arguments: the parameters of the operation, and its body as `body`. */
  readonly inputSchema: Record<string, unknown>
  /** Whether a publishable key suffices. */
  readonly forPublishable: boolean
  readonly inPath: readonly string[]
}

const COMPONENT = '#/components/schemas/'

/**
 * The tools whose operations the document has, with their schemas from it: what an assistant may pass is what the API
 * takes.
 */
export function toolOperations(tools: readonly Tool[], document: Json): ToolOperation[] {
  return tools.flatMap((tool) => {
    const operation = document.paths[tool.path]?.[tool.method.toLowerCase()]
    return operation === undefined ? [] : [withOperation(tool, operation, document.components.schemas)]
  })
}

function withOperation(tool: Tool, operation: Json, components: Json): ToolOperation {
  const properties: Json = {}
  const required: string[] = []
  for (const parameter of operation.parameters) {
    const { name, description, schema } = parameter
    properties[name] = { ...schema, ...(description !== undefined && { description }) }
    if (parameter.required) required.push(name)
  }
  const body = operation.requestBody?.content['application/json'].schema
  if (body !== undefined) {
    properties.body = body
    required.push('body')
  }
  const definitions: Json = {}
  const schema = {
    type: 'object',
    properties: withDefinitions(properties, components, definitions),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
  return {
    ...tool,
    description: [tool.use, `${operation.summary}.`, operation.description].filter(Boolean).join('\n\n'),
    inputSchema: Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions },
    forPublishable: operation.security.some((scheme: Json) => 'publishableKey' in scheme),
    inPath: operation.parameters.filter((one: Json) => one.in === 'path').map((one: Json) => one.name),
  }
}

/** A copy that refers to `$defs` instead of the document's components, which are collected there. */
function withDefinitions(value: Json, components: Json, definitions: Json): Json {
  if (Array.isArray(value)) return value.map((one) => withDefinitions(one, components, definitions))
  if (typeof value !== 'object' || value === null) return value
  const copy: Json = {}
  for (const [key, member] of Object.entries(value)) {
    if (key === '$ref' && typeof member === 'string' && member.startsWith(COMPONENT)) {
      const name = member.slice(COMPONENT.length)
      copy.$ref = `#/$defs/${name}`
      if (Object.hasOwn(definitions, name)) continue
      definitions[name] = true
      definitions[name] = withDefinitions(components[name], components, definitions)
    } else copy[key] = withDefinitions(member, components, definitions)
  }
  return copy
}

/** Makes the request of a call. Its arguments fit the schema. */
export function requestOf(
  { method, path, inPath }: ToolOperation,
  args: Readonly<Record<string, unknown>>,
): { readonly method: string; readonly path: string; readonly body?: unknown } {
  const { body, ...parameters } = args
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (inPath.includes(name)) continue
    if (typeof value !== 'object' || value === null) query.append(name, String(value))
    else for (const [key, one] of Object.entries(value)) query.append(`${name}[${key}]`, String(one))
  }
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(String(parameters[name])))
  const search = query.size === 0 ? '' : `?${query}`
  return { method, path: filled + search, ...(body !== undefined && { body }) }
}

/** `.` and `..` are names, too, but a URL takes them for folders, even if they are escaped. */
function segment(text: string): string {
  if (text === '.' || text === '..') throw new RangeError(`A name cannot be ${JSON.stringify(text)}.`)
  return encodeURIComponent(text)
}
