/** Bodies and answers of any size while they are transferred: back-pressure, limits, and clients that leave early. */
import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import Type from 'typebox'
import type { HttpResponse } from 'uWebSockets.js'
import { openApiDocument } from '../../src/http/openapi.ts'
import { route, type Answer, type Route } from '../../src/http/route.ts'
import { Upload } from '../../src/http/upload.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { eventually, RawConnection, toyServer, type Toy } from './toy.ts'

const MEBIBYTE = 1024 * 1024
const MAX_BYTES = 20 * MEBIBYTE
/** Pieces of 64 KiB; more than the buffers of a connection hold. */
const PIECES = 300
const Kind = Type.Object({ kind: Type.String() })
const SCRIPT = randomBytes(300_000)

/** What the routes below did, for the test to check. */
interface Seen {
  /** Called before each piece is read or made. A test may block it. */
  gate: () => Promise<void>
  produced: number
  readBytes: number
  /** How the reading of bodies and the making of answers ended: `whole`, `let go`, or the message of the error. */
  readonly ends: string[]
}

function routes(seen: Seen): Route[] {
  const common = { summary: 'A toy', tag: 'Toys', answers: { 200: Type.Object({}) } } as const
  const upload = {
    contentTypes: ['text/csv', 'application/octet-stream'],
    maxBytes: MAX_BYTES,
    description: 'Rows.',
  }
  async function* pieces(kind: string): AsyncGenerator<string | Uint8Array> {
    try {
      if (kind === 'early-error') throw new ApiError(404, 'Nothing there.')
      for (let i = 0; i < (kind === 'short' ? 3 : PIECES); i++) {
        await seen.gate()
        if (kind === 'late-error' && i === 5) throw new Error('secret detail')
        seen.produced++
        yield kind === 'short' ? ['ä,', '', new TextEncoder().encode('b\n')][i]! : 'x'.repeat(64 * 1024)
      }
      seen.ends.push('whole')
    } catch (error) {
      seen.ends.push((error as Error).message)
      throw error
    } finally {
      seen.ends.push('let go')
    }
  }
  return [
    route({
      ...common,
      method: 'POST',
      path: '/digest',
      auth: 'publishable',
      upload,
      async handler(call) {
        const digest = createHash('sha256')
        try {
          for await (const chunk of call.upload!) {
            await seen.gate()
            digest.update(chunk as Buffer)
            seen.readBytes += (chunk as Buffer).length
          }
          seen.ends.push('whole')
        } catch (error) {
          seen.ends.push((error as Error).message)
          throw error
        }
        return { body: { digest: digest.digest('hex'), upload: typeof call.body } }
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/first-line',
      auth: 'none',
      upload,
      async handler(call): Promise<Answer> {
        for await (const chunk of call.upload!) {
          const first = String(chunk).split('\n')[0]
          if (first !== 'good') throw new ApiError(400, 'header: Invalid.', { param: 'header' })
          break
        }
        return { body: { early: true } }
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/slow-start',
      auth: 'none',
      upload,
      async handler(call) {
        await seen.gate()
        for await (const chunk of call.upload!) seen.readBytes += (chunk as Buffer).length
        return { body: { size: seen.readBytes } }
      },
    }),
    route({ ...common, method: 'POST', path: '/unread', auth: 'none', upload, handler: () => ({}) }),
    route({
      ...common,
      method: 'GET',
      path: '/rows/:kind',
      auth: 'none',
      params: Kind,
      handler: (call): Answer => ({
        stream: {
          contentType: 'text/csv; charset=utf-8',
          fileName: 'rows.csv',
          chunks: pieces(call.params.kind),
          ...(call.params.kind === 'holding' && { heldBytes: () => 1_000_000 }),
        },
        headers: { 'Cache-Control': 'no-store' },
      }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/waiting',
      auth: 'none',
      handler(): Answer {
        let stop = (): void => undefined
        let made = 0
        const chunks = {
          [Symbol.asyncIterator]: () => ({
            next: () =>
              made++ === 0
                ? Promise.resolve({ value: 'first', done: false as const })
                : new Promise<never>((_, reject) => (stop = () => reject(new Error('let go')))),
            return() {
              seen.ends.push('no longer waited for')
              stop()
              return Promise.resolve({ value: undefined, done: true as const })
            },
          }),
        }
        return { stream: { contentType: 'text/plain', chunks } }
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/script.js',
      auth: 'none',
      handler: () => ({
        bytes: { contentType: 'text/javascript', content: SCRIPT, etag: 'v1' },
        headers: { 'Cache-Control': 'max-age=60', 'Content-Security-Policy': "default-src 'self'" },
      }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/bad/:kind',
      auth: 'none',
      params: Kind,
      handler: (call): Answer =>
        call.params.kind === 'header'
          ? { headers: { 'X-A': 'a\r\nX-B: b' } }
          : { stream: { contentType: 'text/csv', fileName: 'a"b', chunks: pieces('short') } },
    }),
  ]
}

async function start(
  t: Test,
  options: Parameters<typeof toyServer>[1] = {},
): Promise<{ toy: Toy; seen: Seen }> {
  const seen: Seen = { gate: async () => undefined, produced: 0, readBytes: 0, ends: [] }
  return { toy: await toyServer(t, { routes: routes(seen), ...options }), seen }
}

const CSV = { 'content-type': 'text/csv' }
const HEAD = 'POST /digest HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\nContent-Type: text/csv\r\n'

t.test('an upload reaches its handler completely, in pieces', async (t) => {
  const { toy, seen } = await start(t)
  for (const size of [0, 1, 70_000, MAX_BYTES]) {
    const body = randomBytes(size)
    seen.gate = () => new Promise((resolve) => setImmediate(resolve))
    const answer = await toy.call('/digest', { method: 'POST', key: 'pk', body, headers: CSV })
    t.strictSame(
      [answer.status, answer.body.digest, answer.body.upload],
      [200, createHash('sha256').update(body).digest('hex'), 'undefined'],
      `${size} bytes`,
    )
  }
  const chunked = await RawConnection.open(t, toy.port)
  chunked.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n`)
  await eventually(() => toy.server.inFlight === 1)
  chunked.write('1\r\nc\r\n0\r\n\r\n')
  await chunked.answers(1)
  t.match(chunked.received, createHash('sha256').update('abc').digest('hex'))
  t.strictSame(
    seen.ends,
    Array.from({ length: 5 }, () => 'whole'),
  )
  t.strictSame([toy.server.inFlight, toy.server.heldBytes], [0, 0])
})

t.test('a handler that reads slowly slows the sender, whose connection stays open', async (t) => {
  const { toy, seen } = await start(t)
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => (open = resolve))
  seen.gate = () => gate
  const sender = await RawConnection.open(t, toy.port)
  sender.write(`${HEAD}Content-Length: ${MAX_BYTES}\r\n\r\n`)
  for (let i = 0; i < MAX_BYTES / MEBIBYTE; i++) sender.write(Buffer.alloc(MEBIBYTE))
  await eventually(() => seen.readBytes === 0 && sender.socket.bytesWritten > 0)
  // Until nothing moves any more, because the rest waits in the sender's process.
  for (let before = -1; before !== sender.socket.writableLength; await sleep(100)) {
    before = sender.socket.writableLength
  }
  t.ok(sender.socket.writableLength > MEBIBYTE, `${sender.socket.writableLength} bytes wait at the sender`)
  t.equal(toy.server.heldBytes, MEBIBYTE, 'what it may take is counted')
  open()
  await sender.answers(1)
  t.equal(seen.readBytes, MAX_BYTES)
  sender.received = ''
  sender.write('GET /rows/short HTTP/1.1\r\nHost: x\r\n\r\n')
  await sender.answers(1)
  t.match(sender.received, /^HTTP\/1.1 200 /)
})

t.test('a connection whose upload arrived before it was read stays usable', async (t) => {
  const { toy, seen } = await start(t)
  // Sizes around the amount that uWebSockets.js reads at a time, and around twice that.
  for (const size of [400_000, 520_000, 600_000, 850_000, 1_040_000, 1_100_000]) {
    let open = (): void => undefined
    seen.gate = () => new Promise<void>((resolve) => (open = resolve))
    seen.readBytes = 0
    const sender = await RawConnection.open(t, toy.port)
    for (let round = 1; round <= 2; round++) {
      sender.write(
        `POST /slow-start HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\nContent-Length: ${size}\r\n\r\n`,
      )
      sender.write(Buffer.alloc(size))
      await eventually(() => toy.server.inFlight === 1)
      // All of it may have arrived, or it may wait for the handler.
      await sleep(20)
      open()
      await sender.answers(2 * round - 1)
      sender.write('GET /script.js HTTP/1.1\r\nHost: x\r\n\r\n')
      await sender.until(() => sender.received.split('HTTP/1.1 200 ').length > 2 * round)
    }
    t.equal(seen.readBytes, 2 * size, `${size} bytes`)
  }
})

t.test('a socket that delivers pieces although it must wait is paused again for each', async (t) => {
  // Each piece restarts the socket's time limit. Only a request to wait suspends it.
  const asked: string[] = []
  const res = { pause: () => asked.push('pause'), resume: () => asked.push('resume') }
  const upload = new Upload(res as unknown as HttpResponse, Infinity)
  const piece = new ArrayBuffer(512 * 1024)
  for (let i = 0; i < 3; i++) upload.receive(piece, false)
  t.same(asked, ['pause', 'pause', 'pause'])
  while (upload.read() !== null);
  t.same(asked.slice(3), ['resume'])
  upload.receive(piece, false)
  t.same(asked.slice(4), ['pause'])
  upload.destroy()
  t.same(asked.slice(5), ['resume'])
})

t.test('an upload that is not allowed is refused', async (t) => {
  // One address may hold a quarter of it.
  const { toy, seen } = await start(t, { maxHeldBytes: 4 * MEBIBYTE })
  const send = async (init: RequestInit & { key?: string }): Promise<unknown> => {
    const { status, body } = await toy.call('/digest', {
      method: 'POST',
      key: 'pk',
      body: 'x',
      headers: CSV,
      ...init,
    })
    return [status, body.meta.message]
  }
  t.strictSame(await send({ headers: { 'content-type': 'application/json' } }), [
    415,
    'Unsupported content type. Send text/csv or application/octet-stream.',
  ])
  t.strictSame(
    ((await send({ headers: { 'content-type': 'Text/CSV; charset=utf-8' } })) as unknown[])[0],
    200,
  )
  t.strictSame(((await send({ key: 'nope' })) as unknown[])[0], 401)
  const announced = await RawConnection.open(t, toy.port)
  announced.write(`${HEAD}Content-Length: ${MAX_BYTES + 1}\r\n\r\nabc`)
  await announced.answers(1)
  t.match(announced.received, /^HTTP\/1.1 413 [^]*at most 20971520 bytes/, 'by its Content-Length')
  seen.ends.length = 0

  const endless = await RawConnection.open(t, toy.port)
  endless.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`)
  const piece = `100000\r\n${'x'.repeat(MEBIBYTE)}\r\n`
  for (let i = 0; i < 21; i++) endless.write(piece)
  await endless.answers(1)
  t.match(endless.received, /^HTTP\/1.1 413 /, 'by what came')
  t.strictSame(seen.ends, ['The body must be at most 20971520 bytes.'], 'the handler is told')
  await eventually(() => toy.server.inFlight === 0)

  const first = await RawConnection.open(t, toy.port)
  first.write(`${HEAD}Content-Length: 10\r\n\r\nabc`)
  await eventually(() => toy.server.inFlight === 1)
  t.match(await send({}), [
    503,
    /^Too many uploads at once: the bodies of one address may take 1048576 bytes/,
  ])
  first.write('defghij')
  await first.answers(1)
  t.strictSame(((await send({})) as unknown[])[0], 200, 'room is given back')
  t.strictSame(toy.logged, [])
})

t.test('a handler may answer before the body is complete', async (t) => {
  const { toy } = await start(t)
  const body = Buffer.from(`bad\n${'x'.repeat(5 * MEBIBYTE)}`)
  const bad = await toy.call('/first-line', { method: 'POST', body, headers: CSV })
  t.strictSame([bad.status, bad.body.meta.param], [400, 'header'])
  t.equal((await toy.call('/unread', { method: 'POST', body, headers: CSV })).status, 200)

  const same = await RawConnection.open(t, toy.port)
  same.write(
    `POST /first-line HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  same.write('good\n'.padEnd(1000))
  await same.answers(1)
  t.match(same.received, /"early":true/)
  same.write(body.subarray(1000))
  same.write('GET /rows/short HTTP/1.1\r\nHost: x\r\n\r\n')
  await same.answers(2)
  t.match(
    same.received,
    /\r\nContent-Disposition: attachment; filename="rows.csv"\r\n/,
    'the rest was dropped',
  )
  t.strictSame([toy.server.inFlight, toy.server.heldBytes, toy.logged.length], [0, 0, 0])
})

t.test('an upload ends for its handler if the client or the server goes away', async (t) => {
  const { toy, seen } = await start(t)
  const gone = await RawConnection.open(t, toy.port)
  gone.write(`${HEAD}Content-Length: 10\r\n\r\nabc`)
  await eventually(() => seen.readBytes === 3)
  gone.socket.resetAndDestroy()
  await eventually(() => seen.ends.length === 1)
  t.strictSame(seen.ends, ['body: The connection closed before its end.'])
  t.strictSame(toy.observed, [{ path: '/digest', status: 499 }])
  t.strictSame([toy.server.inFlight, toy.server.heldBytes], [0, 0])

  const unread = await RawConnection.open(t, toy.port)
  unread.write('POST /unread HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\nContent-Length: 10\r\n\r\nabc')
  await unread.answers(1)
  unread.socket.resetAndDestroy()

  const late = await RawConnection.open(t, toy.port)
  late.write(`${HEAD}Content-Length: 10\r\n\r\nabc`)
  await eventually(() => seen.readBytes === 6)
  await toy.server.close()
  await late.end()
  t.match(late.received, /^HTTP\/1.1 503 [^]*Retry-After: 1\r\n/)
  t.strictSame(seen.ends.slice(1), ['Shutting down.'])
  t.strictSame(toy.logged, [], 'nobody is to blame')
})

t.test('a drain waits for what a handler still does for a client that has gone', async (t) => {
  const { toy, seen } = await start(t)
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => (open = resolve))
  const client = await RawConnection.open(t, toy.port)
  let waiting = false
  seen.gate = () => {
    waiting = true
    return gate
  }
  client.write(`${HEAD}Content-Length: 10\r\n\r\nabc`)
  await eventually(() => waiting)
  client.socket.resetAndDestroy()
  await eventually(() => toy.server.inFlight === 0)
  let closed = false
  const closing = toy.server.close().then(() => (closed = true))
  await sleep(20)
  t.equal(closed, false)
  open()
  await closing
  t.equal(seen.ends.length, 1)
})

t.test('an answer is made at the pace of its client', async (t) => {
  const { toy, seen } = await start(t)
  const short = await toy.call('/rows/short')
  t.strictSame(
    [short.status, short.text, short.headers.get('content-type'), short.headers.get('content-disposition')],
    [200, 'ä,b\n', 'text/csv; charset=utf-8', 'attachment; filename="rows.csv"'],
  )
  t.equal(short.headers.get('cache-control'), 'no-store')
  t.equal(short.headers.get('transfer-encoding'), 'chunked')
  t.equal((await toy.call('/rows/long')).text.length, PIECES * 64 * 1024)
  t.strictSame(seen.ends, ['whole', 'let go', 'whole', 'let go'])
  const head = await toy.call('/rows/long', { method: 'HEAD' })
  t.strictSame(
    [head.status, head.text, head.headers.get('content-type')],
    [200, '', 'text/csv; charset=utf-8'],
  )

  seen.produced = 0
  const slow = await RawConnection.open(t, toy.port)
  slow.socket.pause()
  slow.write('GET /rows/long HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => toy.server.unreadBytes > 0)
  const made = seen.produced
  t.ok(made < PIECES, `${made} of ${PIECES} pieces made while nobody reads`)
  t.ok(toy.server.unreadBytes <= 64 * 1024, 'one piece waits')
  await sleep(50)
  t.equal(seen.produced, made)
  slow.socket.resume()
  await slow.until(() => slow.received.length > PIECES * 64 * 1024 && slow.received.endsWith('0\r\n\r\n'))
  t.equal(seen.produced, PIECES)
  await eventually(() => toy.server.inFlight === 0)
  t.equal(toy.server.unreadBytes, 0)

  const holding = await RawConnection.open(t, toy.port)
  holding.socket.pause()
  holding.write('GET /rows/holding HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => toy.server.unreadBytes > 0)
  t.ok(toy.server.unreadBytes > 1_000_000, 'what is held for the next pieces is counted')
  holding.socket.resetAndDestroy()
  await eventually(() => toy.server.inFlight === 0)
  t.equal(toy.server.unreadBytes, 0)
})

t.test('nothing is made for a client that has gone', async (t) => {
  const { toy, seen } = await start(t)
  const gone = await RawConnection.open(t, toy.port)
  gone.socket.pause()
  gone.write('GET /rows/long HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => toy.server.unreadBytes > 0)
  gone.socket.resetAndDestroy()
  await eventually(() => seen.ends.length === 1)
  t.strictSame(seen.ends, ['let go'])
  t.strictSame([toy.server.inFlight, toy.server.unreadBytes], [0, 0])
  t.strictSame(toy.observed, [{ path: '/rows/:kind', status: 499 }])

  let open = (): void => undefined
  seen.gate = () => new Promise<void>((resolve) => (open = resolve))
  const early = await RawConnection.open(t, toy.port)
  early.write('GET /rows/long HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => toy.server.inFlight === 1)
  early.socket.resetAndDestroy()
  await eventually(() => toy.server.inFlight === 0)
  open()
  await eventually(() => seen.ends.length === 2)
  seen.gate = async () => undefined

  const waiting = await RawConnection.open(t, toy.port)
  waiting.write('GET /waiting HTTP/1.1\r\nHost: x\r\n\r\n')
  await waiting.until(() => waiting.received.includes('first'))
  waiting.socket.resetAndDestroy()
  await eventually(() => seen.ends.includes('no longer waited for'))
  t.pass('what waits for its next piece is told at once')
  t.strictSame(toy.logged, [], 'and may throw')
})

t.test('an error before the first piece is answered; a later one closes the connection', async (t) => {
  const { toy, seen } = await start(t)
  const early = await toy.call('/rows/early-error')
  t.strictSame([early.status, early.body.meta.message], [404, 'Nothing there.'])
  const late = await RawConnection.open(t, toy.port)
  late.write('GET /rows/late-error HTTP/1.1\r\nHost: x\r\n\r\n')
  await late.end()
  t.match(late.received, /^HTTP\/1.1 200 /)
  t.notOk(late.received.endsWith('0\r\n\r\n'), 'not taken for whole')
  t.notMatch(late.received, 'secret')
  t.match((toy.logged[0]!.fields.err as Error).message, 'secret detail')
  t.strictSame(
    toy.observed.map(({ status }) => status),
    [404, 500],
  )
  t.strictSame(seen.ends, ['Nothing there.', 'let go', 'secret detail', 'let go'])
  for (const kind of ['header', 'name']) t.equal((await toy.call(`/bad/${kind}`)).status, 500, kind)
  t.equal(toy.server.inFlight, 0)
})

t.test('files have a version', async (t) => {
  const { toy } = await start(t)
  const get = (headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
    fetch(`${toy.base}/script.js`, { method, headers })
  const whole = await get()
  t.ok(SCRIPT.equals(Buffer.from(await whole.arrayBuffer())), 'byte for byte')
  t.strictSame(
    ['content-type', 'etag', 'cache-control', 'content-security-policy'].map((name) =>
      whole.headers.get(name),
    ),
    ['text/javascript', '"v1"', 'max-age=60', "default-src 'self'"],
  )
  for (const known of ['"v1"', 'W/"v1"', '"v0", "v1"']) {
    const same = await get({ 'if-none-match': known })
    t.strictSame([same.status, await same.text(), same.headers.get('etag')], [304, '', '"v1"'], known)
  }
  t.equal((await get({ 'if-none-match': '"v2"' })).status, 200)
  const head = await get({}, 'HEAD')
  t.strictSame([head.status, head.headers.get('content-length')], [200, String(SCRIPT.length)])
})

t.test('the reference describes uploads', (t) => {
  const seen: Seen = { gate: async () => undefined, produced: 0, readBytes: 0, ends: [] }
  const { paths } = openApiDocument(routes(seen), '1') as {
    paths: Record<string, Record<string, unknown>>
  }
  const { requestBody, responses } = paths['/digest']!.post as {
    requestBody: { description: string; content: object }
    responses: object
  }
  t.equal(requestBody.description, 'Rows. At most 20 MiB.')
  t.strictSame(Object.keys(requestBody.content), ['text/csv', 'application/octet-stream'])
  t.ok(['413', '415'].every((status) => status in responses))
  t.end()
})

t.test('a connection whose upload was answered early is closed like any other idle one', async (t) => {
  t.setTimeout(120_000)
  const { toy } = await start(t)
  const post = (more: string) =>
    `POST /first-line HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\n${more}\r\n`
  const whole = await RawConnection.open(t, toy.port)
  whole.write(`${post('Content-Length: 2000\r\n')}bad\n`)
  await whole.answers(1)
  whole.write('x'.repeat(1996))
  const chunked = await RawConnection.open(t, toy.port)
  chunked.write(`${post('Transfer-Encoding: chunked\r\n')}4\r\nbad\n\r\n`)
  await new Promise((resolve) => setTimeout(resolve, 50))
  chunked.write('0\r\n\r\n')
  const half = await RawConnection.open(t, toy.port)
  half.write(`${post('Content-Length: 2000\r\n')}bad\n`)
  await half.answers(1)
  await Promise.all([whole.end(), chunked.end(), half.end()])
  t.match(whole.received, /^HTTP\/1.1 400 [^]*"param":"header"[^]*\r\n0\r\n\r\n$/)
  t.match(chunked.received, /^HTTP\/1.1 400 [^]*\r\nConnection: close\r\n[^]*"param":"header"/)
  t.match(half.received, /^HTTP\/1.1 400 [^]*"param":"header"/)
  t.strictSame([toy.server.connections, toy.server.inFlight, toy.server.heldBytes], [0, 0, 0])

  const endless = await RawConnection.open(t, toy.port)
  endless.write(`${post('Transfer-Encoding: chunked\r\n')}4\r\nbad\n\r\n`)
  const piece = `10000\r\n${'x'.repeat(65_536)}\r\n`
  const timer = setInterval(() => endless.write(piece.repeat(32)), 5)
  t.teardown(() => clearInterval(timer))
  await endless.end()
  t.pass('what is dropped has the bound of an upload')
})
