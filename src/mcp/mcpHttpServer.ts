import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler } from '@modelcontextprotocol/server'
import type { ServerForKey } from './assistantServer.ts'

export const MCP_PATH = '/mcp'
const MOST_BODY_BYTES = 256 * 1024
const MOST_CONNECTIONS = 256
const KEY = /^(?:Bearer +)?(prj_(?:test|live)_[ps]k_\w+)$/i

/**
 * MCP over HTTP, without sessions. It has no key: every request contains the key of its client, which is passed on to
 * the API. So a client can do here what its key can do there.
 */
export function mcpHttpServer(serverFor: ServerForKey): Server {
  const handler = createMcpHandler(
    ({ requestInfo }) => serverFor(keyOf(requestInfo?.headers.get('authorization'))!),
    {
      // No notification is ever sent, because the tools do not change.
      maxSubscriptions: MOST_CONNECTIONS / 4,
      maxRequestBodySize: MOST_BODY_BYTES,
    },
  )
  const serve = toNodeHandler(handler, { maxRequestBodySize: MOST_BODY_BYTES })
  // The protocol requires this: a page in a browser must not reach a server on its user's machine.
  const isOriginAllowed = localhostOriginValidation()
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.split('?')[0] !== MCP_PATH)
      return refuse(response, 404, `Not found. The path is ${MCP_PATH}.`)
    if (!isOriginAllowed(request, response)) return
    if (keyOf(request.headers.authorization) === undefined)
      return refuse(response, 401, 'Unauthorized. Send an API key in the Authorization header.')
    void serve(request as Parameters<typeof serve>[0], response)
  })
  server.maxConnections = MOST_CONNECTIONS
  server.requestTimeout = 30_000
  return server
}

function keyOf(authorization: string | null | undefined): string | undefined {
  return KEY.exec(authorization ?? '')?.[1]
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
  })
  response.end(JSON.stringify({ meta: { code: status, message } }))
}
