/**
 * The child process with Valhalla in it: a loop that passes requests to the binding's threads and returns their
 * answers. The parent handles everything that can go wrong (valhallaProcess.ts).
 *
 * Invariants
 * - ENGINE-CHILD-1: It ends when its parent ends, however that happened, because the channel between them closes.
 * - ENGINE-CHILD-2: It survives the signals that a terminal or a service manager sends to all processes: the parent
 *   drains, then ends it.
 */
import { answerMatrix } from './farMatrix.ts'
import type { RoutingAction } from './port.ts'

/** The first message to the child, with the configurations of the engines. */
export interface OpenEngine {
  /** The configuration of {@link valhallaConfig}. */
  readonly config: string
  /** The configuration of the engine for long distances. */
  readonly farConfig: string
}

export interface EngineRequest {
  readonly id: number
  readonly action: RoutingAction
  /** The request as JSON. */
  readonly request: string
}

export type EngineReply =
  | { readonly is: 'ready' }
  /** The engine cannot be loaded on this machine. No more messages follow. */
  | { readonly is: 'unusable'; readonly reason: string }
  | { readonly is: 'answer'; readonly id: number; readonly json: Buffer }
  | { readonly is: 'refusal'; readonly id: number; readonly message: string }
  /** Sent every second. */
  | { readonly is: 'alive'; readonly residentBytes: number }

/** The part of the binding that is used: methods from JSON to JSON. */
export type Binding = {
  readonly [M in (typeof METHODS)[RoutingAction]]: (request: string) => Promise<string>
}

type Ask = (action: RoutingAction, request: string) => Promise<string>

/** The exports of the package. */
export interface BindingPackage {
  readonly Actor: new (config: string) => Binding
}

const METHODS = {
  route: 'route',
  trace_route: 'traceRoute',
  trace_attributes: 'traceAttributes',
  sources_to_targets: 'matrix',
  isochrone: 'isochrone',
  locate: 'locate',
  status: 'status',
} as const satisfies Record<RoutingAction, string>

const ALIVE_MS = 1000

/**
 * Serves the parent from now on.
 * @param load loads the binding's package
 */
export function serveEngine(load: () => Promise<BindingPackage>): void {
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => {})
  // The process is killed, because a normal exit would wait for the running search.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  process.once('message', (message) => void open(load, message as OpenEngine))
}

async function open(load: () => Promise<BindingPackage>, { config, farConfig }: OpenEngine): Promise<void> {
  let ask: Ask
  try {
    const { Actor } = await load()
    ask = asking(new Actor(config), () => new Actor(farConfig))
  } catch (error) {
    return tell({ is: 'unusable', reason: (error as Error).message })
  }
  process.on('message', (message) => void answer(ask, message as EngineRequest))
  setInterval(() => tell({ is: 'alive', residentBytes: process.memoryUsage.rss() }), ALIVE_MS)
  tell({ is: 'ready' })
}

/**
 * Returns a function that answers requests.
 * @param openFar creates the second engine, which has its own tiles in memory, when it is needed
 */
function asking(engine: Binding, openFar: () => Binding): Ask {
  let far: Binding | undefined
  const askNear = (request: string): Promise<string> => engine.matrix(request)
  const askFar = (request: string): Promise<string> => (far ??= openFar()).matrix(request)
  return (action, request) =>
    action === 'sources_to_targets'
      ? answerMatrix(request, askNear, askFar)
      : engine[METHODS[action]](request)
}

async function answer(ask: Ask, { id, action, request }: EngineRequest): Promise<void> {
  try {
    tell({ is: 'answer', id, json: Buffer.from(await ask(action, request)) })
  } catch (error) {
    tell({ is: 'refusal', id, message: (error as Error).message })
  }
}

function tell(reply: EngineReply): void {
  // Nothing is sent to a parent that is gone. This process ends when the channel closes.
  if (process.connected) process.send!(reply, () => {})
}
