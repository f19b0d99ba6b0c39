/** The HTTP client is loaded with the first request, a few modules in each turn of the event loop. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { Outgoing } from '../../src/runtime/outgoing.ts'

const { cache } = createRequire(import.meta.url)
const MOST_MODULES_A_TURN = 8

function modulesOfClient(): number {
  return Object.keys(cache).filter((path) => path.includes('/node_modules/undici/')).length
}

t.test('no turn of the first request loads more than a few modules', async (t) => {
  const server = createServer((request, response) => request.resume().once('end', () => response.end('yes')))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  t.equal(modulesOfClient(), 0, 'nothing is loaded before')
  let before = 0
  let most = 0
  const look = () => {
    const now = modulesOfClient()
    most = Math.max(most, now - before)
    before = now
  }
  let isOver = false
  const everyTurn = () => {
    look()
    if (!isOver) setImmediate(everyTurn)
  }
  setImmediate(everyTurn)
  const outgoing = new Outgoing(['127.0.0.1'])
  t.teardown(() => outgoing.close())
  const { status, body } = await outgoing.request(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: {},
    body: '{}',
    timeoutMs: 10_000,
    keepBytes: 10,
  })
  isOver = true
  look()
  t.match({ status, body: body.toString() }, { status: 200, body: 'yes' })
  t.ok(most > 0 && most <= MOST_MODULES_A_TURN, `${most} modules at once`)
})
