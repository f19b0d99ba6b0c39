/** `npm run mcp`: see {@link HELP}. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import packageJson from '../../package.json' with { type: 'json' }
import { localUrl } from './site.ts'
import { assistantServers } from '../mcp/assistantServer.ts'
import { MCP_PATH, mcpHttpServer } from '../mcp/mcpHttpServer.ts'
import { AssistantApi } from '../mcp/assistantApi.ts'

const HELP = `Usage: npm run --silent mcp -- [options]

Lets assistants that speak MCP, the Model Context Protocol, ask a running server about users, geofences, events, places
and routes. Without --port it speaks over its standard input and output, for an assistant that starts it.

  --url URL    the server; default http://127.0.0.1:8080
  --key KEY    an API key of the server, secret or publishable: it decides what the assistant can see. Default: the
               environment variable RINGFENCE_KEY, which keeps the key out of the list of processes
  --write      offers tools that change something, too: put_geofence. Without it all tools only read
  --port PORT  speaks HTTP instead, at ${MCP_PATH}. Every client sends its own API key: Authorization: Bearer KEY
  --host HOST  the address for --port; default 127.0.0.1

Exit code: 0 the assistant has ended the connection, 2 it could not begin.
`

/** Something that the user has to change. */
class UsageError extends Error {}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      url: { type: 'string', default: 'http://127.0.0.1:8080' },
      key: { type: 'string' },
      write: { type: 'boolean', default: false },
      port: { type: 'string' },
      host: { type: 'string', default: '127.0.0.1' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return console.log(HELP)
  if (!URL.canParse(values.url) || !/^https?:/.test(values.url))
    throw new UsageError(`--url ${values.url}: not a URL.`)
  if (values.port !== undefined && values.key !== undefined)
    throw new UsageError('With --port, every client sends its own key: leave out --key.')
  const key = values.key ?? process.env['RINGFENCE_KEY'] ?? ''
  if (values.port === undefined && !/^prj_(?:test|live)_[ps]k_\w+$/.test(key))
    throw new UsageError('An API key is required: set RINGFENCE_KEY or use --key.')
  const port = values.port === undefined ? undefined : portOf(values.port)
  const serverFor = await assistantServers(
    new AssistantApi(new URL(values.url)),
    packageJson.version,
    values.write,
  )
  if (port !== undefined) return listen(serverFor, values.host, port)
  serveStdio(() => serverFor(key))
}

function portOf(text: string): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535) throw new UsageError(`--port ${text}: not a port.`)
  return port
}

async function listen(
  ...[serverFor, host, wanted]: [Parameters<typeof mcpHttpServer>[0], string, number]
): Promise<void> {
  const server = mcpHttpServer(serverFor)
  server.listen(wanted, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  console.log(`MCP at ${localUrl(host, port)}${MCP_PATH}`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      server.close()
      server.closeAllConnections()
    })
}

try {
  await main()
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException
  // The standard output is not for messages, because the assistant reads it.
  console.error(message)
  if (error instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS'))
    console.error('`npm run mcp -- --help` shows the options.')
  process.exitCode = 2
}
