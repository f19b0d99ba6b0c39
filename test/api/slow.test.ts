/** Connections that dawdle: the transport's own time limits are what bounds them, so they are held here. */
import t from 'tap'
import { RawConnection, toyServer } from './toy.ts'

t.test('half-sent requests are given up, awaited answers are not', async (t) => {
  const toy = await toyServer(t)
  const half = await RawConnection.open(t, toy.port)
  half.write('POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\nContent-Length: 100000\r\n\r\n{"dev')
  const dripping = await RawConnection.open(t, toy.port)
  dripping.write(
    'POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\nContent-Length: 100000\r\n\r\n{"dev',
  )
  const drip = setInterval(() => dripping.write(' '), 200)
  t.teardown(() => clearInterval(drip))
  const header = await RawConnection.open(t, toy.port)
  header.write('POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthor')
  const waiting = await RawConnection.open(t, toy.port)
  waiting.write('GET /pending HTTP/1.1\r\nHost: x\r\n\r\n')

  await Promise.all([half.end(), dripping.end(), header.end()])
  t.equal(toy.server.heldBytes, 0)
  t.equal(toy.server.inFlight, 1, 'only the awaited answer is left')
  toy.pending[0]!.send({ body: { late: true } })
  await waiting.until(() => waiting.received.endsWith('"late":true}'))
})
