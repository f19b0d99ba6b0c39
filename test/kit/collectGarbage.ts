import { once } from 'node:events'

/** The environment of a server whose garbage {@link collectGarbage} is to collect. */
export function inspectedAt(port: number): Record<string, string> {
  return { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` }
}

/**
 * Has a server collect its garbage, through the inspector of V8: what a start left behind is otherwise in memory until
 * V8 finds the time, which may take longer than the start.
 * @param port that of {@link inspectedAt}
 */
export async function collectGarbage(port: number): Promise<void> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as [
    { webSocketDebuggerUrl: string },
  ]
  const socket = new WebSocket(target.webSocketDebuggerUrl)
  await once(socket, 'open')
  socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }))
  await once(socket, 'message')
  socket.close()
}
