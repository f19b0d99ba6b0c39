/** What a gateway puts into its requests to the owner of a partition. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Senders } from '../../src/wire/senders.ts'
import t from 'tap'
import { AnswerOverdue, type Calls } from '../../src/cluster/nats/calls.ts'
import { decodeRequest, encodeReply } from '../../src/cluster/protocol/partitionProtocol.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { Engine, HERE } from '../actor/kit.ts'
import { until } from '../kit/waiting.ts'
import { fixedWorld, gatewayOf, track } from './kit.ts'

t.test(
  'updates of a backlog go beside those of the others, and only as many as keep a request short',
  async (t) => {
    // The gateway's clock, so that the duration of a request depends on nothing else.
    let now = 0
    t.intercept(performance, 'now', { value: () => now })
    const engine = new Engine()
    const behind: number[] = []
    let others = 0
    const waiting: (() => void)[] = []
    const calls: Calls = {
      async ask(_subject, question) {
        const { updates } = decodeRequest(question, () => undefined, SENDERS)
        const ofBacklog = updates.filter(({ deviceId }) => deviceId.startsWith('behind')).length
        t.ok(ofBacklog === 0 || ofBacklog === updates.length, 'a request has those of one kind')
        if (ofBacklog === 0) others += updates.length
        else {
          behind.push(ofBacklog)
          await new Promise<void>((resolve) => waiting.push(resolve))
        }
        return encodeReply({ updates: updates.map(() => 0), commands: [] })
      },
      askAll: () => ({ send() {}, end() {} }),
      serve: () => ({ async stop() {} }),
    }
    const gateway = gatewayOf(calls, fixedWorld(), { partitions: 1, pause: nextTurn })
    const send = (deviceId: string, isBehind: boolean) =>
      track(gateway, engine.update({ deviceId, ...HERE }), { isBehind, wantsUser: false, wantsEvents: false })
    const answered: Promise<unknown>[] = []
    /** Answers the request of the backlog after this time. Until then, updates of others are answered. */
    const answer = async (milliseconds: number) => {
      while (waiting.length === 0) await nextTurn()
      await Promise.all(Array.from({ length: 3 }, (_, i) => send(`other-${others}-${i}`, false)))
      now += milliseconds
      waiting.shift()!()
    }
    for (let i = 0; i < 200; i++) answered.push(send(`behind-${i}`, true))
    for (let i = 0; i < 5; i++) await answer(5)
    for (let i = 0; i < 5; i++) await answer(100)
    while (waiting.length === 0) await nextTurn()
    t.strictSame(behind, [1, 2, 4, 8, 16, 32, 16, 8, 4, 2, 1])
    t.equal(others, 30, 'the others have not waited')
    const end = setInterval(() => waiting.shift()?.(), 1)
    await Promise.all(answered)
    clearInterval(end)
  },
)

t.test('an update of a backlog never overtakes an earlier one of its device', async (t) => {
  const engine = new Engine()
  const sent: string[] = []
  const waiting: (() => void)[] = []
  const calls: Calls = {
    async ask(_subject, question) {
      const { updates } = decodeRequest(question, () => undefined, SENDERS)
      sent.push(updates.map(({ deviceId, latitude }) => `${deviceId}${latitude}`).join())
      await new Promise<void>((resolve) => waiting.push(resolve))
      return encodeReply({ updates: updates.map(() => 0), commands: [] })
    },
    askAll: () => ({ send() {}, end() {} }),
    serve: () => ({ async stop() {} }),
  }
  const gateway = gatewayOf(calls, fixedWorld(), { partitions: 1, pause: nextTurn })
  const told: string[] = []
  const send = async (deviceId: string, latitude: number, isBehind: boolean) => {
    const update = engine.update({ deviceId, latitude, longitude: 0 })
    await track(gateway, update, { isBehind, wantsUser: false, wantsEvents: false })
    told.push(`${deviceId}${latitude}`)
  }
  const turns = async () => {
    for (let i = 0; i < 20; i++) await nextTurn()
  }
  const all = [send('a', 1, false)]
  await turns()
  // The first update of a is in flight, and the first of b waits behind it.
  all.push(
    send('b', 1, false),
    send('a', 2, true),
    send('b', 2, true),
    send('c', 1, true),
    send('a', 3, false),
  )
  await turns()
  t.strictSame(sent, ['a1', 'c1'], 'only a device that has nothing before it')
  while (told.length < all.length) {
    waiting.splice(0).forEach((resolve) => resolve())
    await turns()
  }
  await Promise.all(all)
  for (const device of ['a', 'b'])
    t.strictSame(
      told.filter((one) => one.startsWith(device)),
      told.filter((one) => one.startsWith(device)).toSorted(),
      `${device} in order`,
    )
})

t.test('an update that waited for the request before it is not kept waiting as long again', async (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const engine = new Engine()
  const asked = Promise.withResolvers<void>()
  /** The owner is away, and back for a moment after 9.5 s: for the first request only. */
  const calls: Calls = {
    async ask(subject, question, timeoutMs) {
      await nextTurn()
      const { updates } = decodeRequest(question, () => undefined, SENDERS)
      if (updates[0]!.deviceId === 'first' && now >= 9500)
        return encodeReply({ updates: updates.map(() => 0), commands: [] })
      asked.resolve()
      now += timeoutMs
      throw new AnswerOverdue(subject)
    },
    askAll: () => ({ send() {}, end() {} }),
    serve: () => ({ async stop() {} }),
  }
  const pause = (milliseconds: number) => {
    now += milliseconds
    return nextTurn()
  }
  const gateway = gatewayOf(calls, fixedWorld(), { partitions: 1, pause })
  const told: { readonly deviceId: string; readonly is503: boolean; readonly at: number }[] = []
  const send = async (deviceId: string, isBehind: boolean) => {
    const answer = await track(gateway, engine.update({ deviceId, ...HERE }), { isBehind })
    told.push({ deviceId, is503: answer instanceof ApiError && answer.code === 503, at: now })
  }
  const first = send('first', false)
  await asked.promise
  const second = send('second', false)
  await Promise.all([first, second])
  t.strictSame(
    told.map(({ deviceId, is503 }) => [deviceId, is503]),
    [
      ['first', false],
      ['second', true],
    ],
  )
  t.ok(told[1]!.at <= 12_000, `refused after ${told[1]!.at} ms`)
  // One that waits behind others on purpose has all the time for its own request.
  const before = now
  await send('third', true)
  t.ok(now - before >= 10_000, `refused after ${now - before} ms`)
})

t.test('an owner whose every answer comes after the next attempt is heard', async (t) => {
  const engine = new Engine()
  let attempts = 0
  let open = 0
  /** The way is so slow that an answer takes longer than an attempt. */
  const calls: Calls = {
    async ask(subject, question, timeoutMs, late) {
      attempts++
      open++
      const { updates } = decodeRequest(question, () => undefined, SENDERS)
      let isOpen = true
      void sleep(1.2 * timeoutMs).then(() => {
        if (isOpen) late!.take(encodeReply({ updates: updates.map(() => 0), commands: [] }))
      })
      await sleep(timeoutMs)
      const end = () => {
        isOpen = false
        open--
      }
      late!.keep({ send() {}, end })
      throw new AnswerOverdue(subject)
    },
    askAll: () => ({ send() {}, end() {} }),
    serve: () => ({ async stop() {} }),
  }
  const gateway = gatewayOf(calls, fixedWorld(), { partitions: 1 })
  const answer = await track(gateway, engine.update({ deviceId: 'a', ...HERE }), {
    wantsUser: false,
    wantsEvents: false,
  })
  t.notOk(answer instanceof ApiError, 'it is applied')
  t.equal(attempts, 2, 'the answer to the first attempt came during the second')
  await until(() => open === 0)
  t.pass('nobody waits for the others')
})

t.test('requests to many partitions are packed in several turns if they are long', async (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const partitions = 32
  const engine = new Engine()
  let ofTurn = 0
  let most = 0
  let requests = 0
  const calls: Calls = {
    async ask(_subject, question) {
      // Packing the request took so long.
      now += 1
      requests++
      if (ofTurn++ === 0) setImmediate(() => (ofTurn = 0))
      most = Math.max(most, ofTurn)
      const { updates } = decodeRequest(question, () => undefined, SENDERS)
      await nextTurn()
      return encodeReply({ updates: updates.map(() => 0), commands: [] })
    },
    askAll: () => ({ send() {}, end() {} }),
    serve: () => ({ async stop() {} }),
  }
  const gateway = gatewayOf(calls, fixedWorld(), { partitions, pause: () => sleep(1) })
  const wanted = { wantsUser: false, wantsEvents: false }
  for (let round = 0; round < 5; round++) {
    const devices = Array.from({ length: 20 * partitions }, (_, i) => `d${i}`)
    await Promise.all(devices.map((deviceId) => track(gateway, engine.update({ deviceId, ...HERE }), wanted)))
  }
  t.ok(requests >= 5 * partitions)
  t.ok(most <= 4, `${most} requests in a turn`)
})

const SENDERS = new Senders()
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
