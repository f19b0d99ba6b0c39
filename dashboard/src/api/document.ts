import { signal } from '@preact/signals'

/** What pages read of the OpenAPI document. */
export interface ApiDocument {
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

export interface Operation {
  readonly summary?: string
  readonly 'x-ringfence-role'?: 'read' | 'write' | 'admin'
}

export interface JsonSchema {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly anyOf?: readonly JsonSchema[]
  readonly enum?: readonly unknown[]
  readonly items?: JsonSchema
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
}

/** The document of this server; undefined until it has been read. */
export const apiDocument = signal<ApiDocument | undefined>(undefined)

let reading: Promise<void> | undefined

/** Reads the document, unless that has been done or is under way. */
export function loadDocument(): Promise<void> {
  reading ??= read().finally(() => {
    // What has failed is tried again by the next page.
    if (apiDocument.peek() === undefined) reading = undefined
  })
  return reading
}

async function read(): Promise<void> {
  const answer = await fetch('/v1/openapi.json')
  if (answer.ok) apiDocument.value = (await answer.json()) as ApiDocument
}

/** Whether the server has the call, written `GET /v1/users`. */
export function hasCall(name: string): boolean {
  return operationOf(name) !== undefined
}

/** The role that a call needs of a person. */
export function roleOfCall(name: string): 'read' | 'write' | 'admin' {
  return operationOf(name)?.['x-ringfence-role'] ?? 'admin'
}

function operationOf(name: string): Operation | undefined {
  const [method = '', path = ''] = name.split(' ')
  return apiDocument.value?.paths[path]?.[method.toLowerCase()]
}
