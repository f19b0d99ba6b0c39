import { EventEmitter } from 'node:events'
import { LoopRest } from '../../src/runtime/loopRest.ts'
import t from 'tap'
import { ByteBound } from '../../src/runtime/byteBound.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { ApiError, badParam, notFound, outOfRange } from '../../src/runtime/errors.ts'
import { Lifecycle, type Service } from '../../src/runtime/lifecycle.ts'
import { createLogger, maskKeys, progressLog } from '../../src/runtime/logger.ts'

/** A logger whose lines the test reads. */
function recordingLogger({ level = 'info', isTTY = false } = {}) {
  const lines: string[] = []
  return { lines, logger: createLogger(level, { isTTY, write: (text: string) => lines.push(text) }) }
}

const SECRET = `prj_live_sk_${'0123456789abcdef'.repeat(2)}01234567`

t.test('long work reports its progress once a second; short work reports nothing', async (t) => {
  const { lines, logger } = recordingLogger({ isTTY: true })
  const clock = new ManualClock()
  const progress = progressLog(logger, clock, 'reading')
  for (let done = 1; done <= 30; done++) {
    clock.advance(100)
    progress(done, 30)
  }
  t.strictSame(
    lines.map((line) => line.slice(13).trim()),
    [10, 20, 30].map((done) => `INFO reading done=${done} total=30`),
  )
})

t.test('logger', async (t) => {
  t.test('a line is one JSON object with time, level, message and fields', async (t) => {
    const { lines, logger } = recordingLogger()
    logger.debug('not at this level')
    logger.info({ port: 8080 }, 'listening')
    t.equal(lines.length, 1)
    t.match(lines[0], /\n$/)
    const { time, ...rest } = JSON.parse(lines[0] as string)
    t.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    t.strictSame(rest, { level: 'info', port: 8080, msg: 'listening' })
  })

  t.test('a terminal gets a short line, an error with its stack', async (t) => {
    const { lines, logger } = recordingLogger({ isTTY: true })
    logger.info({ port: 8080, host: '::1' }, 'listening')
    logger.error({ err: new Error('disk full') }, 'append failed')
    t.match(lines[0], /^\d\d:\d\d:\d\d\.\d{3} INFO listening port=8080 host=::1\n$/)
    t.match(lines[1], /^\d\d:\d\d:\d\d\.\d{3} ERROR append failed\nError: disk full\n {4}at /)
  })

  t.test('no key is ever written completely: message, field, nested field, error', async (t) => {
    for (const isTTY of [false, true]) {
      const { lines, logger } = recordingLogger({ isTTY })
      logger.info(`key ${SECRET} used`)
      logger.info({ authorization: `Bearer ${SECRET}` }, 'request')
      logger.info({ request: { headers: { authorization: SECRET } } }, 'request')
      logger.error({ err: new Error(`unknown key ${SECRET}`) }, 'failed')
      t.equal(lines.length, 4)
      for (const line of lines) {
        t.notOk(line.includes(SECRET))
        t.match(line, 'prj_live_sk_…4567')
      }
    }
  })

  t.test('maskKeys', async (t) => {
    t.equal(maskKeys(`${SECRET},prj_test_pk_abcdefghijkl.`), 'prj_live_sk_…4567,prj_test_pk_…ijkl.')
    t.equal(maskKeys('prj_test_pk_abcd'), 'prj_test_pk_…', 'too short to show four of it')
    t.equal(maskKeys('prj_prod_pk_abcdefghijkl prj_test_pk_'), 'prj_prod_pk_abcdefghijkl prj_test_pk_')
  })
})

t.test('lifecycle', async (t) => {
  /** Services that write what happens to them into one list. */
  function services(overrides: Record<string, Partial<Service>> = {}, drainMs = 50) {
    const { lines, logger } = recordingLogger()
    const lifecycle = new Lifecycle(logger, drainMs)
    const happened: string[] = []
    for (const name of ['log', 'engine', 'http']) {
      lifecycle.add({
        name,
        start: () => void happened.push(`start ${name}`),
        stop: () => void happened.push(`stop ${name}`),
        ...overrides[name],
      })
    }
    return { lifecycle, happened, lines }
  }

  t.test('services stop in the reverse order of their start, once', async (t) => {
    const { lifecycle, happened } = services()
    await lifecycle.start()
    const codes = await Promise.all([lifecycle.stop(), lifecycle.stop()])
    t.strictSame(codes, [0, 0])
    t.equal(await lifecycle.stop(), 0)
    t.strictSame(happened, [
      'start log',
      'start engine',
      'start http',
      'stop http',
      'stop engine',
      'stop log',
    ])
  })

  t.test('a service is stopped after the one before it has drained', async (t) => {
    const { lifecycle, happened } = services({
      http: {
        async stop() {
          await new Promise((resolve) => setImmediate(resolve))
          happened.push('http drained')
        },
      },
    })
    await lifecycle.start()
    t.equal(await lifecycle.stop(), 0)
    t.strictSame(happened.slice(3), ['http drained', 'stop engine', 'stop log'])
  })

  t.test('a failed start stops the started services and throws the cause', async (t) => {
    const { lifecycle, happened } = services({
      engine: { start: () => Promise.reject(new Error('damaged')) },
    })
    await t.rejects(lifecycle.start(), { message: 'damaged' })
    t.strictSame(happened, ['start log', 'stop log'])
  })

  t.test('a service that fails to stop is logged and keeps no other from stopping', async (t) => {
    const { lifecycle, happened, lines } = services({
      engine: { stop: () => Promise.reject(new Error('stuck')) },
    })
    await lifecycle.start()
    t.equal(await lifecycle.stop(), 1)
    t.strictSame(happened.slice(3), ['stop http', 'stop log'])
    t.match(lines.join(''), /"service":"engine".*service failed to stop/)
  })

  t.test('draining is bounded and the service that hangs is named', async (t) => {
    const { lifecycle, lines } = services({ engine: { stop: () => new Promise(() => {}) } })
    await lifecycle.start()
    t.equal(await lifecycle.stop(), 1)
    t.match(lines.join(''), /engine did not drain within 0\.05 s; giving up/)
  })

  t.test('a signal while starting: nothing more is started', async (t) => {
    const { lifecycle, happened } = services({
      engine: {
        start() {
          happened.push('start engine')
          void lifecycle.stop()
        },
      },
    })
    await lifecycle.start()
    t.equal(await lifecycle.stop(), 0)
    t.strictSame(happened.slice(0, 3), ['start log', 'start engine', 'stop log'])
  })

  t.test('a signal drains and exits 0', async (t) => {
    const { lifecycle, happened } = services()
    await lifecycle.start()
    const code = await new Promise<number>((resolve) => {
      const host = Object.assign(new EventEmitter(), { exit: resolve })
      lifecycle.handleSignals(host)
      host.emit('SIGTERM', 'SIGTERM')
    })
    t.equal(code, 0)
    t.equal(happened.at(-1), 'stop log')
  })

  t.test('a second signal exits at once', async (t) => {
    const { lifecycle, happened } = services({ http: { stop: () => new Promise(() => {}) } }, 1000)
    await lifecycle.start()
    const codes: number[] = []
    const host = Object.assign(new EventEmitter(), { exit: (code: number) => void codes.push(code) })
    lifecycle.handleSignals(host)
    host.emit('SIGTERM', 'SIGTERM')
    t.strictSame(codes, [], 'draining')
    host.emit('SIGTERM', 'SIGTERM')
    t.strictSame(codes, [], 'npm passes on what the server has had already')
    await new Promise((resolve) => setTimeout(resolve, 600))
    host.emit('SIGINT', 'SIGINT')
    t.strictSame(codes, [1])
    t.notOk(happened.includes('stop engine'))
    await lifecycle.stop()
  })
})

t.test('byte limit: completely or not at all', async (t) => {
  const bound = new ByteBound(100)
  t.ok(bound.tryAcquire(60))
  t.notOk(bound.tryAcquire(41))
  t.equal(bound.used, 60, 'a refusal takes nothing')
  t.ok(bound.tryAcquire(40))
  t.notOk(bound.tryAcquire(1))
  bound.release(60)
  t.equal(bound.used, 40)
  t.notOk(new ByteBound(100).tryAcquire(101), 'larger than the bound never fits')
  t.throws(() => bound.release(41), { message: 'release of 41 bytes while 40 are held' })
  for (const limit of [0, -1, 1.5, NaN]) t.throws(() => new ByteBound(limit), RangeError)
})

t.test('manual clock', async (t) => {
  const clock = new ManualClock(5)
  clock.advance(7)
  t.equal(clock.now(), 12)
})

t.test('API errors contain what the answer needs', async (t) => {
  t.match(outOfRange('latitude', -90, 90), {
    code: 400,
    param: 'latitude',
    message: 'latitude: Invalid latitude. Valid range: [-90, 90].',
  })
  t.match(badParam('tags', 'Must be text.'), { code: 400, param: 'tags', message: 'tags: Must be text.' })
  t.match(notFound('Geofence'), { code: 404, param: undefined, message: 'Geofence not found.' })
  const cause = new Error('root')
  t.match(new ApiError(503, 'Busy.', { retryAfter: 1, cause }), { name: 'ApiError', retryAfter: 1, cause })
})

t.test('the loop pauses for the time in which it would be idle, and not while it is busy', async (t) => {
  let idle = 0
  const slept: number[] = []
  const rest = new LoopRest({
    idleMs: () => idle,
    sleep: (milliseconds) => slept.push(Math.round(milliseconds * 100) / 100),
  })
  const pass = (idleMs: number) => {
    slept.length = 0
    rest.begin(2)
    idle += idleMs
    rest.end()
    return slept
  }
  t.strictSame(pass(2), [], 'nothing is known yet')
  t.strictSame(pass(0.5), [1.4])
  t.strictSame(pass(0.1), [1.33], 'what was slept was idle, too')
  t.strictSame(pass(0), [1])
  t.strictSame(pass(0), [0.7])
  t.strictSame(pass(0.9), [], 'too little was left')
  t.strictSame(pass(1.2), [])
  t.strictSame(pass(30_000), [0.84])
  t.strictSame(
    pass(0),
    [1.4],
    'never longer than the while, however long the process was stopped in the last',
  )
})
