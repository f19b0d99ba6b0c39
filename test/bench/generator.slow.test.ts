/**
 * Both load generators against a server that gives every kind of answer, because a bench is only as correct as its
 * counts.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { loadGenerator, type LoadResult } from '../../bench/load/load.ts'
import { drawGeofences, writeWorkload } from '../../bench/load/workload.ts'

const execFileAsync = promisify(execFile)
const NODE_GENERATOR = join(import.meta.dirname, '..', '..', 'bench', 'load', 'generator.ts')

/**
 * A server whose answer to request number `i` (its body) is decided by `answer`. It keeps the bodies that it
 * received.
 */
async function startServer(t: Test, answer: (socket: Socket, body: string) => void) {
  const bodies: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    let received = ''
    sockets.add(socket)
    socket.setNoDelay(true).setEncoding('latin1')
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (text: string) => {
      received += text
      const end = received.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1])
      if (end < 0 || received.length < end + 4 + length) return
      const body = received.slice(end + 4)
      received = ''
      bodies.push(body)
      answer(socket, body)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { bodies, port: (server.address() as { port: number }).port }
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'

/** What the server does with request i, by i mod 8. Each case causes exactly one status or one error. */
function everyKind(socket: Socket, body: string): void {
  switch (Number(body) % 8) {
    case 0:
      socket.write(OK)
      break
    case 1:
      socket.write(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\na;x=1\r\n0123456789\r\n0\r\n\r\n',
      )
      break
    case 2:
      dribble(socket, OK)
      break
    case 3:
      dribble(socket, 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n')
      break
    case 4:
      socket.write('HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n')
      break
    case 5:
      socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok')
      break
    case 6:
      socket.destroy()
      break
    default:
      socket.write(`HTTP/1.1 503 Unavailable\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`)
  }
}

/** One byte at a time, each in its own packet. */
function dribble(socket: Socket, text: string): void {
  socket.write(text.slice(0, 1))
  if (text.length > 1) setImmediate(() => dribble(socket, text.slice(1)))
}

type Run = (args: string[]) => Promise<LoadResult>

async function generators(): Promise<Record<string, Run | string>> {
  const { program, reason } = await loadGenerator()
  const run = (command: readonly string[]) => async (args: string[]) => {
    const { stdout } = await execFileAsync(command[0]!, [...command.slice(1), ...args])
    return JSON.parse(stdout) as LoadResult
  }
  return {
    native: reason ?? run(program),
    node: run([process.execPath, NODE_GENERATOR]),
  }
}

function records(t: Test, bodies: readonly string[]): { requests: string; head: string } {
  const folder = t.testdir({ head: 'POST / HTTP/1.1\r\nHost: x\r\n' })
  const requests = join(folder, 'requests')
  const parts = bodies.flatMap((body) => {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(body.length)
    return [length, Buffer.from(body)]
  })
  writeFileSync(requests, Buffer.concat(parts))
  return { requests, head: join(folder, 'head') }
}

for (const [name, run] of Object.entries(await generators())) {
  if (typeof run === 'string') {
    t.test(name, { skip: run }, async () => {})
    continue
  }

  t.test(`${name}: every kind of answer is counted once`, async (t) => {
    const { port, bodies } = await startServer(t, everyKind)
    const files = records(
      t,
      Array.from({ length: 80 }, (_, i) => String(i)),
    )
    for (const rate of ['0', '400']) {
      bodies.length = 0
      const result = await run(
        `--port ${port} --connections 4 --count 80 --rate ${rate} --max-lag-ms 20000 --group 80 --requests ${files.requests} --head ${files.head}`.split(
          ' ',
        ),
      )
      t.equal(result.sent, 80)
      t.same(result.statuses, { 200: 50, 429: 10, 503: 10 }, `rate ${rate}`)
      t.equal(result.ok, 50)
      t.equal(result.connectionErrors, 10)
      t.same([result.unanswered, result.unsent, result.saturated], [0, 0, false])
      t.ok(result.bytesReceived > 1_000_000)
      t.same(
        bodies.map(Number).toSorted((a, b) => a - b),
        Array.from({ length: 80 }, (_, i) => i),
      )
    }
  })

  t.test(`${name}: rounds are walked forward and backward`, async (t) => {
    const { port, bodies } = await startServer(t, (socket) => socket.write(OK))
    const files = records(t, ['a0', 'b0', 'a1', 'b1', 'a2', 'b2'])
    await run(
      `--port ${port} --connections 1 --count 9 --offset 3 --group 2 --requests ${files.requests} --head ${files.head}`.split(
        ' ',
      ),
    )
    t.equal(bodies.join(' '), 'b1 a2 b2 a1 b1 a0 b0 a1 b1')
  })

  t.test(`${name}: when a server stalls, latency counts from the time when a request was due`, async (t) => {
    const held: Socket[] = []
    const { port } = await startServer(t, (socket) => {
      if (held.push(socket) === 1) {
        setTimeout(() => {
          for (const waiting of held) waiting.write(OK)
          held.length = 0
          held.push = () => 2
        }, 400)
      } else if (held.length === 0) socket.write(OK)
    })
    const files = records(t, ['x'])
    const args = [
      '--port',
      `${port}`,
      '--connections',
      '2',
      '--group',
      '1',
      '--requests',
      files.requests,
      '--head',
      files.head,
    ]
    const result = await run([...args, '--count', '40', '--rate', '100'])
    t.equal(result.ok, 40)
    // Two requests were in flight while the server stalled. A closed loop would not notice the others that were due
    // in the meantime.
    t.ok(result.latencyMs.p50 > 100, `p50 is ${result.latencyMs.p50} ms`)
    t.ok(result.sendDelayMs.p99 > 300)
    held.push = Array.prototype.push
    const gone = await run([...args, '--count', '1000', '--rate', '10000', '--max-lag-ms', '50'])
    t.ok(gone.saturated && gone.unsent > 0, 'a schedule that cannot be kept is given up')
  })

  t.test(`${name}: with patience, a run lasts as long as answers come`, async (t) => {
    let left = 0
    const { port } = await startServer(t, (socket) => {
      if (left-- > 0) setTimeout(() => socket.write(OK), 700)
    })
    const files = records(t, ['x'])
    const send = (connections: number, count: number) =>
      run(
        `--port ${port} --connections ${connections} --count ${count} --patience-ms 3000 --group 1 --requests ${files.requests} --head ${files.head}`.split(
          ' ',
        ),
      )
    left = 6
    const slow = await send(1, 6)
    t.same([slow.ok, slow.unsent, slow.unanswered, slow.saturated], [6, 0, 0, false])
    t.ok(slow.seconds > 4, 'longer than its patience')
    left = 1
    const silent = await send(1, 5)
    t.same([silent.ok, silent.unsent, silent.unanswered, silent.saturated], [1, 3, 1, true])
    left = 2
    const last = await send(3, 3)
    t.same([last.ok, last.unsent, last.unanswered, last.saturated], [2, 0, 1, false])
  })
}

t.test('the workload is the same for the same seed', async (t) => {
  const write = (folder: string, seed: number) =>
    writeWorkload({
      geofences: 200,
      devices: 50,
      seed,
      folder,
      publishableKey: 'pk',
      onProgress: () => {},
    })
  const folder = t.testdir({ a: {}, b: {}, c: {} })
  const [a, b, c] = [write(join(folder, 'a'), 1), write(join(folder, 'b'), 1), write(join(folder, 'c'), 2)]
  t.same(readFileSync(a.trackBodies), readFileSync(b.trackBodies))
  t.same([...drawGeofences(20, 1)], [...drawGeofences(20, 1)])
  t.notSame([...drawGeofences(20, 1)], [...drawGeofences(20, 2)])
  t.notSame(readFileSync(a.trackBodies), readFileSync(c.trackBodies))
  const devices = new Set(a.sampleBodies.map((body) => (JSON.parse(body) as { deviceId: string }).deviceId))
  t.equal(devices.size, 50, 'a round has each device once')
})
