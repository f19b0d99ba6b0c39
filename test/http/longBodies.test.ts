/** Long bodies of many connections that are whole in the same turn of the event loop. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { slowly } from '../kit/turns.ts'
import { RawConnection, toyServer } from './toy.ts'

const COUNT = 20
const BODY = JSON.stringify({ deviceId: 'd', latitude: 1, longitude: 2, coordinates: Array(20_000).fill(1) })
const HEAD = `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n`

t.test('they are read in turns, and all are answered', async (t) => {
  const toy = await toyServer(t)
  const connections = await Promise.all(Array.from({ length: COUNT }, () => RawConnection.open(t, toy.port)))
  for (const connection of connections) connection.write(HEAD + BODY.slice(0, -1))
  await sleep(100)
  slowly(t)
  let most = 0
  let before = 0
  const look = () => {
    most = Math.max(most, toy.observed.length - before)
    before = toy.observed.length
    handle = setImmediate(look)
  }
  let handle = setImmediate(look)
  for (const connection of connections) connection.write(BODY.slice(-1))
  await Promise.all(connections.map((connection) => connection.answers(1)))
  clearImmediate(handle)
  t.ok(connections.every(({ received }) => received.startsWith('HTTP/1.1 200')))
  t.ok(most <= 5, `${most} in one turn`)
})

t.test('one whose client goes while it waits is not read', async (t) => {
  const toy = await toyServer(t)
  const connections = await Promise.all(Array.from({ length: COUNT }, () => RawConnection.open(t, toy.port)))
  for (const connection of connections) connection.write(HEAD + BODY.slice(0, -1))
  await sleep(100)
  for (const connection of connections) connection.write(BODY.slice(-1)).socket.destroy()
  while (toy.observed.length < COUNT) await sleep(5)
  t.equal(
    (await toy.call('/v1/track', { key: 'pk', json: { deviceId: 'd', latitude: 1, longitude: 2 } })).status,
    200,
  )
})
