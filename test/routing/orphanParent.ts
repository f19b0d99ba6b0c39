/** A server to be killed: starts a child, prints its process id as soon as it answers, and asks it for what takes forever. */
import { createLogger } from '../../src/runtime/logger.ts'
import { ValhallaProcess } from '../../src/geo/routing/valhallaProcess.ts'

// Where the test is killed itself.
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
