/** Connections that send slowly. Only the transport's own time limits end them, so these limits are tested here. */
import t from 'tap'
import { RawConnection, toyServer } from './toy.ts'

const HEAD = 'POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\n'

t.test('incomplete requests are closed, requests that wait for an answer are not', async (t) => {
  const toy = await toyServer(t)
  /** A connection that sends the start, and then the piece again and again. */
  const dribbling = async (start: string, piece = '', milliseconds = 200) => {
    const connection = await RawConnection.open(t, toy.port)
    connection.write(start)
    const timer = piece === '' ? undefined : setInterval(() => connection.write(piece), milliseconds)
    t.teardown(() => clearInterval(timer))
    return connection
  }
  const hopeless = [
    await dribbling(''),
    await dribbling(`${HEAD}Content-Length: 100000\r\n\r\n{"dev`),
    await dribbling(`${HEAD}Content-Length: 100000\r\n\r\n{"dev`, ' '),
    await dribbling(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'),
    await dribbling(`${HEAD}Author`),
    // A request head does not get more time with every byte or line that arrives.
    await dribbling(`${HEAD}X: `, 'x'),
    await dribbling(HEAD, 'X: x\r\n', 1000),
    await dribbling(HEAD, 'X: x\r\n', 5000),
    // Neither does the next head after an answer, whether it has begun or not.
    await dribbling('GET /v1/things/special HTTP/1.1\r\nHost: x\r\n\r\n', 'G'),
    await dribbling('GET /v1/things/special HTTP/1.1\r\nHost: x\r\n\r\n'),
  ]
  const waiting = await dribbling('GET /pending HTTP/1.1\r\nHost: x\r\n\r\n')

  await Promise.all(hopeless.map((connection) => connection.end()))
  t.equal(toy.server.heldBytes, 0)
  t.equal(toy.server.inFlight, 1, 'only the awaited answer is left')
  t.equal(toy.server.connections, 1)
  toy.pending[0]!.send({ body: { late: true } })
  await waiting.until(() => waiting.received.endsWith('"late":true}'))
})
