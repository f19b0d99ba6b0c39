/** A child process with a stand-in for Valhalla, which does what the request says, such as `{"do": "answer"}`. */
import { serveEngine, type Binding } from '../../src/geo/routing/engineChild.ts'

const kept: Buffer[] = []

async function perform(request: string): Promise<string> {
  const { do: what, bytes } = JSON.parse(request) as { do: string; bytes?: number }
  switch (what) {
    case 'hold':
      return new Promise(() => {})
    case 'pause':
      await new Promise((resolve) => setTimeout(resolve, 300))
      break
    case 'crash':
      process.exit(134)
      break
    case 'grow':
      kept.push(Buffer.alloc(bytes!, 1))
      break
    case 'refuse':
      throw new Error('Route error: No path could be found for input')
  }
  return JSON.stringify({ pid: process.pid, variables: Object.keys(process.env), what })
}

const METHODS = [
  'route',
  'optimizedRoute',
  'traceRoute',
  'traceAttributes',
  'matrix',
  'isochrone',
  'locate',
  'status',
]

function Actor(): Binding {
  return Object.fromEntries(METHODS.map((method) => [method, perform])) as unknown as Binding
}

serveEngine(async () => ({ Actor: Actor as unknown as new (config: string) => Binding }))
