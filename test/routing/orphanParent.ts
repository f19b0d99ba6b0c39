/**
 * A server that the test kills: it starts a child, prints the child's process id as soon as the child answers, and
 * sends it a request that never ends.
 */
import { createLogger } from '../../src/runtime/logger.ts'
import { ValhallaProcess } from '../../src/geo/routing/valhallaProcess.ts'

// Ends this process if the test itself is killed.
process.stdin.resume().on('end', () => process.exit())

const valhalla = new ValhallaProcess({
  tiles: '/nowhere',
  name: 'orphan',
  threads: 1,
  timeoutMs: 300_000,
  memoryBytes: 2 ** 30,
  maxWaiting: 10,
  logger: createLogger('silent'),
  ended() {},
  child: new URL('./standInChild.ts', import.meta.url),
})
const answer = await valhalla.call('route', '{"do":"answer"}')
void valhalla.call('route', '{"do":"hold"}')
console.log(JSON.parse(answer.toString()).pid)
