/** `npm run sdk:types`: generates src/api.ts from the OpenAPI document of a real server. */
import { writeFileSync } from 'node:fs'
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { Server } from '../test/kit/server.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- a document of every shape
type Json = any

const HEAD = '/** What the API takes and answers: written by `npm run sdk:types`, not by hand. */\n\n'

/**
 * The types of an OpenAPI document as TypeScript. Errors are left out because they are thrown. Endless answers are
 * left out because streams have their own client.
 */
export async function apiTypes(document: Json): Promise<string> {
  const paths: Record<string, Record<string, Json>> = {}
  for (const [path, operations] of Object.entries<Json>(document.paths)) {
    for (const [method, operation] of Object.entries<Json>(operations)) {
      const status = '200' in operation.responses ? 200 : 202
      const answer = operation.responses[status]
      if (answer === undefined || 'text/event-stream' in answer.content) continue
      const types = { ...operation, description: undefined, responses: { [status]: answer } }
      ;(paths[path] ??= {})[method] = types
    }
  }
  const { schemas } = document.components
  const reduced: OpenAPI3 = { openapi: document.openapi, info: document.info, paths, components: { schemas } }
  return (
    HEAD + astToString(await openapiTS(reduced, { defaultNonNullable: false, emptyObjectsUnknown: true }))
  )
}

if (import.meta.main) {
  const server = await Server.start()
  try {
    const { body } = await server.api('GET', '/v1/openapi.json', undefined, null)
    writeFileSync(new URL('src/api.ts', import.meta.url), await apiTypes(body))
  } finally {
    await server.dispose()
  }
}
