import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** How long one look waits for the threads' answers: one that ends meanwhile never answers. */
const ANSWER_MS = 5000

/** The environment of a server whose garbage {@link collectGarbage} is to collect. */
export function inspectedAt(port: number): Record<string, string> {
  return { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` }
}

const ENABLE_ID = 2
const COLLECT_ID = 1
const COLLECT = JSON.stringify({ id: COLLECT_ID, method: 'HeapProfiler.collectGarbage' })

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly sessionId: string }
}

/**
 * Has a server collect its garbage and that of its threads, through the inspector of V8: what a start or an import left
 * behind is otherwise in memory until V8 finds the time, which may take longer than the start. A thread that waits for
 * work never finds it.
 * @param port that of {@link inspectedAt}
 */
export async function collectGarbage(port: number): Promise<void> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as [
    { webSocketDebuggerUrl: string },
  ]
  const socket = new WebSocket(target.webSocketDebuggerUrl)
  await once(socket, 'open')
  await Promise.race([collectOfThreads(socket), sleep(ANSWER_MS, undefined, { ref: false })])
  const own = new Promise<void>((resolve) => {
    socket.addEventListener('message', ({ data }) => {
      if ((JSON.parse(data as string) as Message).id === COLLECT_ID) resolve()
    })
  })
  socket.send(COLLECT)
  await own
  socket.close()
}

/** Resolves when all threads that the server has now have collected theirs. */
function collectOfThreads(socket: WebSocket): Promise<void> {
  const waited = new Set<string>()
  let areKnown = false
  return new Promise<void>((resolve) => {
    socket.addEventListener('message', ({ data }) => {
      const { id, method, params } = JSON.parse(data as string) as Message
      // All threads have been told of when this is answered.
      if (id === ENABLE_ID) areKnown = true
      if (params !== undefined) {
        const { sessionId } = params
        if (method === 'NodeWorker.attachedToWorker') {
          waited.add(sessionId)
          const toWorker = { sessionId, message: COLLECT }
          socket.send(JSON.stringify({ id: 3, method: 'NodeWorker.sendMessageToWorker', params: toWorker }))
        } else waited.delete(sessionId)
      }
      if (areKnown && waited.size === 0) resolve()
    })
    const params = { waitForDebuggerOnStart: false }
    socket.send(JSON.stringify({ id: ENABLE_ID, method: 'NodeWorker.enable', params }))
  })
}
