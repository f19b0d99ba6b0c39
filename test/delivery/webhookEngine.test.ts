/** What a webhook does over hours and days, on a simulated clock, and that many webhooks do not hold each other up. */
import t, { type Test } from 'tap'
import { senderThrough } from '../../src/delivery/webhookMessage.ts'
import type { AttemptOutcome } from '../../src/delivery/webhookPort.ts'
import type { Webhook } from '../../src/model/webhook.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { Outgoing } from '../../src/runtime/outgoing.ts'
import { whole } from '../events/contract.ts'
import fc, { draws } from '../kit/fastCheck.ts'
import { Receiver, World } from './webhookKit.ts'
import { settle } from '../kit/simulatedTime.ts'
import { until } from '../kit/waiting.ts'

const RUNS = draws(10)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const HOOK = 'a'.repeat(24)

/** The numbers at the end of the ids of the events in the requests. */
const numbersOf = (body: string) =>
  [...body.matchAll(/"_id":"([0-9a-f]{24})","type"/g)].map(([, id]) => Number.parseInt(id!, 16))

t.test(
  'an endpoint that answers 500 for a day is paused, and gets all events when it is enabled again',
  async (t) => {
    let status = 500
    const sent: { at: number; id: string; events: number[] }[] = []
    const world = new World(t, async (_, { id, body }): Promise<AttemptOutcome> => {
      const at = world.time.now()
      sent.push({ at, id, events: numbersOf(body) })
      return status === 200
        ? { at, latency: 1, status, body: '' }
        : { at, latency: 1, status, error: `answered ${status}`, body: 'no' }
    })
    await world.start({ id: HOOK })
    const start = world.time.now()
    world.happen('a', 'a', 'b')
    await world.time.runUntil(start + 10 * HOUR)
    const webhook = world.definitions.get(HOOK)!
    t.match(world.webhooks.standing(webhook), {
      status: 'failing',
      since: start,
      reason: 'answered 500',
      pending: 3,
    })
    // The end of the process does not change this.
    await world.crash()
    world.happen('c')
    await world.time.runUntil(start + 3 * DAY)
    t.match(world.webhooks.standing(webhook), {
      status: 'paused',
      since: start + DAY,
      reason: 'Every attempt failed for 24 h; the last one: answered 500.',
      pending: 4,
    })
    t.equal(world.webhooks.endpoints.paused, 1)
    t.equal(sent.at(-1)!.at, start + DAY, 'the last attempt is when the time is up')
    t.same(new Set(sent.map(({ events }) => events[0])), new Set([0, 2, 3]), 'the second of a device waits')
    const retries = sent.filter(({ events }) => events[0] === 0).map(({ at }) => at - start)
    t.same(retries.slice(0, 5), [0, 500, 1500, 3500, 7500], 'doubling, and half of it at half of the jitter')
    t.ok(
      retries.slice(1).every((at, i) => at - retries[i]! <= HOUR),
      'never more than an hour apart',
    )
    const ids = new Map(sent.map(({ events, id }) => [events[0], id]))
    t.ok(
      sent.every(({ events, id }) => ids.get(events[0]) === id),
      'an event keeps its webhook-id',
    )

    world.happen('a', 'd')
    await world.crash()
    t.match(
      world.webhooks.standing(webhook),
      { status: 'paused', pending: 4 },
      'a pause survives the process',
    )
    sent.length = 0
    await world.webhooks.enable(webhook)
    const resumed = world.time.now()
    await world.time.runUntil(resumed)
    t.same(
      sent.map(({ events }) => events[0]),
      [0, 2, 3, 5],
      'enabled, the first of every device is sent at once',
    )
    await world.time.runUntil(resumed + DAY - 1)
    t.match(world.webhooks.standing(webhook), { status: 'failing', since: resumed, pending: 6 })
    t.equal(world.webhooks.endpoints.counters.givenUp, 0, 'all retries are ahead of what waited')
    await world.time.runUntil(resumed + DAY)
    t.equal(world.webhooks.standing(webhook).status, 'paused')
    status = 200
    sent.length = 0
    await world.webhooks.enable(webhook)
    await world.time.runUntil(resumed + DAY)
    t.same(sent.map(({ events }) => events[0]).toSorted(), [0, 1, 2, 3, 4, 5])
    t.same(
      sent.map(({ events }) => events[0]).filter((number) => [0, 1, 4].includes(number!)),
      [0, 1, 4],
    )
    t.match(world.webhooks.standing(webhook), { status: 'active', pending: 0 })

    t.test('one that answers 410 is paused at once', async (t) => {
      status = 410
      world.happen('a')
      await world.time.runUntil(world.time.now())
      t.match(world.webhooks.standing(webhook), { status: 'paused', reason: /410/, pending: 1 })
    })

    t.test('events that are lost because a pause exceeds the retention are reported', async (t) => {
      t.equal(world.webhooks.standing(webhook).lostBefore, undefined)
      await world.time.runUntil(world.time.now() + 366 * DAY)
      const lostBefore = world.time.now() - 365 * DAY
      t.equal(world.webhooks.standing(webhook).lostBefore, lostBefore)
      world.events.all.length = 0
      status = 200
      await world.webhooks.enable(webhook)
      await world.time.runUntil(world.time.now() + 1)
      t.match(world.webhooks.standing(webhook), { status: 'active', pending: 0, lostBefore })
      const { deliveries } = await world.webhooks.deliveries(webhook, { status: 'dropped', limit: 10 })
      t.equal(deliveries.length, 1, 'the one that waited is in the log as dropped')
    })
  },
)

t.test('the deliveries that wait in memory are bounded: the cursor stops', async (t) => {
  let answers = false
  const world = new World(t, async (): Promise<AttemptOutcome> => {
    if (!answers) await new Promise<void>((resolve) => world.time.after(DAY, resolve))
    return { at: world.time.now(), latency: 1, status: 200, body: '' }
  })
  await world.start({ id: HOOK })
  const webhook = world.definitions.get(HOOK)!
  for (let i = 0; i < 12; i++) world.happen(...Array.from({ length: 1000 }, (_, j) => `device-${i}-${j}`))
  const pending = () => world.webhooks.standing(webhook).pending
  await until(async () => {
    await world.time.runUntil(world.time.now())
    return pending() >= 10_000
  })
  for (let i = 0; i < 20; i++) await world.time.runUntil(world.time.now())
  t.ok(pending() < 10_200, `${pending()} wait`)
  answers = true
  await until(async () => {
    await world.time.runUntil(world.time.now() + DAY)
    return pending() === 0 && world.webhooks.endpoints.counters.delivered === 12_000
  })
})

t.test('a failing endpoint gets one request at a time, and later all that waited', async (t) => {
  let status = 503
  let inFlight = 0
  const most: number[] = []
  const through: number[] = []
  const world = new World(t, async (_, { body }): Promise<AttemptOutcome> => {
    most.push(++inFlight)
    await new Promise<void>((done) => world.time.after(1000, done))
    inFlight--
    const at = world.time.now()
    if (status !== 200) return { at, latency: 1000, status, error: 'answered 503', body: '' }
    through.push(...numbersOf(body))
    return { at, latency: 1000, status, body: '' }
  })
  world.random = () => 1
  await world.start({ id: HOOK })
  world.happen(...Array.from({ length: 30 }, (_, i) => `device-${i}`))
  const start = world.time.now()
  await world.time.runUntil(start)
  t.equal(Math.max(...most), 20)
  await world.time.runUntil(start + 2000)
  most.length = 0
  await world.time.runUntil(start + 10 * HOUR)
  t.ok(most.length > 100)
  t.equal(Math.max(...most), 1)
  status = 200
  while (through.length === 0) await world.time.runUntil(world.time.now() + 1000)
  await world.time.runUntil(world.time.now() + 3000)
  t.equal(new Set(through).size, 30)
})

t.test('while users cannot be queried, events wait, whatever the endpoint does', async (t) => {
  const sent: string[] = []
  const world = new World(t, async (_, { body }): Promise<AttemptOutcome> => {
    sent.push(body)
    return { at: world.time.now(), latency: 1, status: 200, body: '' }
  })
  world.userJson = () => Promise.reject(new ApiError(503, 'Nobody answers.', { retryAfter: 1 }))
  await world.start({ id: HOOK })
  const start = world.time.now()
  world.happen('a', 'a', 'b')
  await world.time.runUntil(start + HOUR)
  t.same(sent, [])
  t.match(world.webhooks.standing(world.definitions.get(HOOK)!), { pending: 3 })
  world.userJson = async () => '{"_id":"u"}'
  await world.time.runUntil(start + HOUR + 2000)
  t.same(new Set(sent.flatMap(numbersOf)), new Set([0, 1, 2]))
  t.ok(sent.every((body) => body.includes('"user":{"_id":"u"}')))
})

t.test('an event that the receiver always refuses blocks only its device, for a day', async (t) => {
  const through: number[] = []
  const world = new World(t, async (_, { body }): Promise<AttemptOutcome> => {
    const at = world.time.now()
    const [number] = numbersOf(body)
    if (number === 0) return { at, latency: 1, status: 500, error: 'answered 500', body: '' }
    through.push(number!)
    return { at, latency: 1, status: 200, body: '' }
  })
  await world.start({ id: HOOK })
  const start = world.time.now()
  world.happen('poisoned', 'poisoned', 'b')
  for (let hour = 1; hour < 24; hour++) {
    await world.time.runUntil(start + hour * HOUR)
    world.happen('b')
  }
  await world.time.runUntil(start + DAY - 1)
  t.notOk(through.includes(1))
  t.equal(through.length, 24)
  await world.time.runUntil(start + DAY)
  t.equal(through.at(-1), 1, 'then it is given up, and the next one goes')
  const webhook = world.definitions.get(HOOK)!
  t.match(world.webhooks.standing(webhook), { status: 'active', pending: 0 })
  const { deliveries } = await world.webhooks.deliveries(webhook, { status: 'failed', limit: 10 })
  t.match(deliveries, [{ deviceId: 'poisoned', status: 'failed' }])
  t.equal(world.webhooks.endpoints.counters.givenUp, 1)
})

t.test('an idle endpoint does not count as failing: one failure days later causes no pause', async (t) => {
  let isUp = true
  const world = new World(t, async (_, { body }): Promise<AttemptOutcome> => {
    const at = world.time.now()
    return isUp && numbersOf(body)[0] !== 0
      ? { at, latency: 1, status: 200, body: '' }
      : { at, latency: 1, status: 500, error: 'answered 500', body: '' }
  })
  const standing = () => world.webhooks.standing(world.definitions.get(HOOK)!)
  await world.start({ id: HOOK })
  const start = world.time.now()
  world.happen('poisoned')
  await world.time.runUntil(start + 20 * HOUR)
  world.happen('b')
  await world.time.runUntil(start + 26 * HOUR)
  t.equal(world.webhooks.endpoints.counters.givenUp, 1)
  t.match(standing(), { status: 'active', pending: 0 })
  await world.time.runUntil(start + 3 * DAY)
  isUp = false
  world.happen('c')
  await world.time.runUntil(start + 3 * DAY + 1)
  t.match(standing(), { status: 'failing', since: start + 3 * DAY, pending: 1 })
})

t.test('Retry-After applies to the whole endpoint, for an hour at most', async (t) => {
  const sent: number[] = []
  let retryAfterMs: number | undefined = 90_000
  const world = new World(t, async (): Promise<AttemptOutcome> => {
    const at = world.time.now()
    sent.push(at)
    return retryAfterMs === undefined
      ? { at, latency: 1, status: 200, body: '' }
      : { at, latency: 1, status: 429, error: 'answered 429', body: '', retryAfterMs }
  })
  await world.start({ id: HOOK })
  const start = world.time.now()
  world.happen('a')
  await world.time.runUntil(start + 10_000)
  world.happen('b')
  await world.time.runUntil(start + 89_999)
  t.same(sent, [start])
  retryAfterMs = 100 * DAY
  await world.time.runUntil(start + 90_000)
  t.ok(sent.length > 1)
  const again = sent.length
  retryAfterMs = undefined
  await world.time.runUntil(start + 90_000 + HOUR - 1)
  t.equal(sent.length, again)
  await world.time.runUntil(start + 90_000 + HOUR)
  t.equal(sent.length, again + 2)
})

/** A world whose endpoint answers with `answer`, and the URLs that were requested. */
function answering(t: Test, answer: { status: number; retryAfterMs?: number }) {
  const urls: string[] = []
  const world: World = new World(t, async ({ url }): Promise<AttemptOutcome> => {
    urls.push(url)
    const { status, retryAfterMs } = answer
    const outcome = { at: world.time.now(), latency: 1, status, body: '' }
    return status === 200 ? outcome : { ...outcome, error: `answered ${status}`, retryAfterMs }
  })
  return { world, urls }
}

t.test('Retry-After is forgotten when the webhook is enabled again, or goes elsewhere', async (t) => {
  const answer: Parameters<typeof answering>[1] = { status: 410, retryAfterMs: HOUR }
  const { world, urls } = answering(t, answer)
  await world.start({ id: HOOK })
  world.happen('a')
  await world.time.runUntil(world.time.now() + 10)
  answer.status = 503
  await world.webhooks.enable(world.definitions.get(HOOK)!)
  await world.time.runUntil(world.time.now() + 10)
  t.equal(urls.length, 2)
  answer.status = 200
  const url = 'http://elsewhere.example/'
  await world.webhooks.change(world.definitions.get(HOOK)!, { url })
  await world.time.runUntil(world.time.now() + 1000)
  t.same(urls.slice(2), [url])
})

t.test(
  'a corrected URL gets the waiting events at once, and failures of the previous URL are forgotten',
  async (t) => {
    const answer: Parameters<typeof answering>[1] = { status: 404 }
    const { world, urls } = answering(t, answer)
    const { time, webhooks } = world
    const hook = () => world.definitions.get(HOOK)!
    await world.start({ id: HOOK })
    world.happen('a', 'b')
    await time.runUntil(time.now() + 23.9 * HOUR)
    const before = urls.length
    answer.status = 503
    const url = 'http://mended.example/'
    await webhooks.change(hook(), { url })
    const since = time.now()
    await time.runUntil(since + 1000)
    t.same(urls.slice(before), [url, url])
    t.match(webhooks.standing(hook()), { status: 'failing', since })
    await time.runUntil(since + 23 * HOUR)
    t.match(webhooks.standing(hook()), { status: 'failing', pending: 2 }, 'it has a day of its own')
    answer.status = 200
    await time.runUntil(since + DAY)
    t.match(webhooks.standing(hook()), { status: 'active', pending: 0 })
  },
)

t.test('a late answer of the previous URL does not affect the new one', async (t) => {
  const world = new World(t, async () => ({ at: 0, latency: 1, status: 200, body: '' }))
  const hook = () => world.definitions.get(HOOK)!
  const late = Promise.withResolvers<AttemptOutcome>()
  const urls: string[] = []
  world.send = async ({ url }) => {
    urls.push(url)
    return urls.length === 1 ? late.promise : { at: world.time.now(), latency: 1, status: 200, body: '' }
  }
  await world.start({ id: HOOK })
  world.happen('a')
  await world.time.runUntil(world.time.now() + 10)
  await world.webhooks.change(hook(), { url: 'http://new.example/' })
  late.resolve({ at: world.time.now(), latency: 10, status: 410, error: 'answered 410', body: '' })
  await world.time.runUntil(world.time.now() + 10)
  t.same(urls, ['http://receiver.example/', 'http://new.example/'])
  t.match(world.webhooks.standing(hook()), { status: 'active', pending: 0 })
})

t.test('the time in which a webhook was disabled does not count as failing', async (t) => {
  const answer: Parameters<typeof answering>[1] = { status: 503 }
  const { world, urls } = answering(t, answer)
  const { time, webhooks } = world
  const hook = () => world.definitions.get(HOOK)!
  await world.start({ id: HOOK })
  world.happen('a', 'b')
  await time.runUntil(time.now() + MINUTE)
  await webhooks.change(hook(), { enabled: false })
  await time.runUntil(time.now() + 2 * DAY)
  const before = urls.length
  await webhooks.change(hook(), { enabled: true })
  const since = time.now()
  await time.runUntil(since + 10 * MINUTE)
  t.match(webhooks.standing(hook()), { status: 'failing', since, pending: 2 }, 'not paused by one failure')
  t.ok(urls.length - before > 10, 'its retries are ahead of it')
  answer.status = 200
  await time.runUntil(since + HOUR)
  t.match(webhooks.standing(hook()), { status: 'active', pending: 0 })
  t.match(webhooks.endpoints.counters, { delivered: 2, givenUp: 0 })
})

t.test('a clock that is set back by a day delays nothing for longer than an hour', async (t) => {
  for (const isRestarted of [false, true]) {
    const answer: Parameters<typeof answering>[1] = isRestarted
      ? { status: 503 }
      : { status: 503, retryAfterMs: 5000 }
    const { world, urls } = answering(t, answer)
    const { time } = world
    const now = time.now.bind(time)
    await world.start({ id: HOOK })
    world.happen('a')
    await time.runUntil(now() + 10)
    answer.status = 200
    // Alarms continue to run, because they use the monotonic clock.
    time.now = () => now() - DAY
    if (isRestarted) await world.crash()
    await time.runUntil(now() + HOUR)
    t.equal(urls.length, 2)
  }
})

t.test(
  'a time range is sent again completely, even if events are not in the order of their times',
  async (t) => {
    const { world, urls } = answering(t, { status: 200 })
    const start = world.time.now()
    world.feed.committed({
      offset: 1,
      events: [1, 5, 3, 6].map((second, i) =>
        whole(i, { scope: 1, deviceId: `d${i}`, actualCreatedAt: start + second * 1000 }),
      ),
    })
    await world.start({ id: HOOK })
    await world.webhooks.redeliverRange(world.definitions.get(HOOK)!, start + 4000, start + MINUTE)
    await world.time.runUntil(start + MINUTE)
    t.equal(urls.length, 2)
  },
)

t.test(
  'property: each event arrives, in order per device, despite any failures and ends of the process',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            devices: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 }),
            minutes: fc.integer({ min: 0, max: 90 }),
            failing: fc.constantFrom(0, 0.3, 1),
            crash: fc.boolean(),
          }),
          { minLength: 1, maxLength: 8 },
        ),
        fc.constantFrom('single' as const, 'multiple' as const),
        fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
        async (phases, mode, numbers) => {
          const draw = () => numbers.next().value!
          const arrived: number[] = []
          const idOf = new Map<string, string>()
          let failing = 0
          let busy = new Set<string>()
          const world = new World(t, async (_, { id, body }): Promise<AttemptOutcome> => {
            const mine = busy
            const at = world.time.now()
            const events = numbersOf(body)
            const device = world.events.all[events[0]!]!.deviceId
            if (mine.has(device)) throw new Error(`two at a time of ${device}`)
            mine.add(device)
            await new Promise<void>((done) => world.time.after(Math.floor(draw() * 5000), done))
            mine.delete(device)
            if (events.length > (mode === 'single' ? 1 : 5)) throw new Error(`${events.length} events`)
            const ids = events.map((number) => world.events.all[number]!.id).join()
            if ((idOf.get(ids) ?? id) !== id) throw new Error(`${ids} as ${id} and ${idOf.get(ids)}`)
            idOf.set(ids, id)
            const latency = world.time.now() - at
            if (draw() < failing) return { at, latency, error: 'reset', body: '' }
            arrived.push(...events)
            return { at, latency, status: 200, body: '' }
          })
          world.random = draw
          await world.start({ id: HOOK, mode })
          for (const phase of phases) {
            failing = phase.failing
            world.happen(...phase.devices)
            await world.time.runUntil(world.time.now() + phase.minutes * MINUTE)
            if (!phase.crash) continue
            busy = new Set()
            await world.crash()
          }
          failing = 0
          await world.time.runUntil(world.time.now() + 3 * HOUR)
          const firsts = [...new Set(arrived)]
          for (const device of ['a', 'b', 'c']) {
            const all = world.events.all.flatMap((event, i) => (event.deviceId === device ? [i] : []))
            const inOrder = firsts.filter((number) => all.includes(number))
            if (inOrder.join() !== all.join())
              throw new Error(`${device}: ${inOrder.join()}, not ${all.join()}`)
          }
        },
      ),
      { numRuns: RUNS },
    )
  },
)

t.test('Retry-After in the forms that receivers give it', async (t) => {
  const receiver = await Receiver.start(t)
  const outgoing = new Outgoing(['127.0.0.1'])
  t.teardown(() => outgoing.close())
  const now = Date.now()
  const send = senderThrough(outgoing, { clock: { now: () => now }, version: 'test', timeoutMs: 60_000 })
  const asked = async (value: string | string[]) => {
    receiver.answer = (_, response) => response.writeHead(503, { 'Retry-After': value }).end()
    const webhook = { url: receiver.url, secret: `whsec_${Buffer.from('k'.repeat(30)).toString('base64')}` }
    const outcome = await send(webhook as Webhook, { id: 'msg', body: '{}' }, new AbortController().signal)
    return outcome.retryAfterMs
  }
  t.equal(await asked('120'), 120_000)
  t.equal(await asked(['5', '9']), 5000, 'the first of two')
  t.ok((await asked('9'.repeat(20)))! > DAY, 'longer than anybody waits')
  t.equal(await asked(new Date(now + MINUTE).toUTCString()), Math.floor((now + MINUTE) / 1000) * 1000 - now)
  for (const nothing of ['0', '-5', 'soon', '', new Date(now - MINUTE).toUTCString()])
    t.equal(await asked(nothing), undefined, nothing)
})

t.test('50 of 100 endpoints hang: the others get their events', async (t) => {
  const receiver = await Receiver.start(t)
  receiver.answer = ({ path }, response) => {
    if (path.startsWith('/good')) response.end()
  }
  const outgoing = new Outgoing(['127.0.0.1'])
  t.teardown(() => outgoing.close())
  const clock = { now: () => Date.now() }
  const world = new World(t, senderThrough(outgoing, { clock, version: 'test', timeoutMs: 60_000 }))
  await world.start(
    ...Array.from({ length: 100 }, (_, i) => ({
      id: i.toString(16).padStart(24, '0'),
      url: `${receiver.url}/${i % 2 === 0 ? 'good' : 'hangs'}/${i}`,
    })),
  )
  const devices = Array.from({ length: 30 }, (_, i) => `device-${i % 15}`)
  world.happen(...devices)
  const got = (kind: string) => receiver.got.filter(({ path }) => path.startsWith(kind)).length
  await until(
    () => got('/good') === 50 * devices.length && world.webhooks.endpoints.pending === 50 * devices.length,
  )
  for (const [id, webhook] of world.definitions) {
    const { pending } = world.webhooks.standing(webhook)
    if (pending !== (Number.parseInt(id, 16) % 2 === 0 ? 0 : 30)) t.fail(`${id}: ${pending}`)
  }
  await until(() => got('/hangs') >= 50 * 15)
  t.equal(got('/hangs'), 50 * 15, 'each of them has the first of each device, and waits')
})

t.test('the messages of many webhooks that waited for the same user are made in turns', async (t) => {
  let turn = 0
  let isOver = false
  const count = () => {
    turn++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  // By this clock, each message takes long.
  let now = 0
  t.intercept(performance, 'now', { value: () => (now += 3) })
  const turns: number[] = []
  const world = new World(t, async () => {
    turns.push(turn)
    return { at: world.time.now(), latency: 1, status: 200, body: '' }
  })
  let tell: (user: string) => void = () => {}
  const user = new Promise<string>((resolve) => (tell = resolve))
  world.userJson = () => user
  await world.start(...Array.from({ length: 20 }, (_, i) => ({ id: i.toString(16).padStart(24, '0') })))
  world.happen('a')
  const pass = async () => {
    for (let i = 0; i < 20; i++) await settle()
  }
  await pass()
  t.equal(turns.length, 0, 'they wait for the user')
  tell('{}')
  await pass()
  isOver = true
  t.equal(turns.length, 20)
  t.equal(new Set(turns).size, 20, 'one in a turn')
})
