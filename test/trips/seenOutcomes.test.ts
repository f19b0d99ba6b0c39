/** What devices saw of their trips: the last outcome, and for a while the events of the rows before. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { deviceIn, SeenOutcomes } from '../../src/trips/seenOutcomes.ts'
import { runs } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'

const outcome = (number: number, characters = 10) => ({
  trip: `{"n":${number}}`,
  events: [`${number} `.padEnd(characters, 'x')],
})

t.test('the events of earlier rows are there for a while', async (t) => {
  const seen = new SeenOutcomes(1e6, 40)
  for (let number = 1; number <= 3; number++) seen.put('a', number, outcome(number), true)
  t.equal(seen.lastOf('a'), 3)
  const { trip } = outcome(3)
  for (let number = 1; number <= 3; number++)
    t.strictSame(seen.get('a', number), { trip, events: outcome(number).events })
  t.strictSame(seen.get('a'), { trip, events: [] })
  t.equal(seen.get('b', 1), undefined)
  await sleep(60)
  seen.put('a', 4, outcome(4), true)
  t.strictSame(seen.get('a', 1)?.events, [], 'nobody waits for so long')
  t.strictSame(seen.get('a', 3)?.events, outcome(3).events, 'it was the last until now')
  seen.put('a', 5, outcome(5), false)
  t.strictSame(seen.get('a', 4)?.events, [], 'its asker has had it')
})

t.test('of trips that moved with their update, it only keeps that the device has seen it', async (t) => {
  const seen = new SeenOutcomes(1e6, 40)
  const key = deviceIn(1, 'a')
  t.notOk(seen.hasSeen(1, 'a'))
  seen.put(key, 1, outcome(1), true)
  t.ok(seen.hasSeen(1, 'a'))
  seen.moved(1, 'a')
  t.strictSame([seen.lastOf(key), seen.get(key), seen.get(key, 1)], [undefined, undefined, undefined])
  t.ok(seen.hasSeen(1, 'a'))
  t.notOk(seen.hasSeen(2, 'a'), 'that of another scope has not')
  seen.put(key, 4, outcome(4), true)
  t.strictSame(seen.get(key, 4), outcome(4))
  const most = 8
  const small = new SeenOutcomes(most * 11 * 32)
  for (let i = 0; i < 10; i++) small.moved(1, `${i}`)
  const there = Array.from({ length: 10 }, (_, i) => small.hasSeen(1, `${i}`))
  t.strictSame(
    there,
    Array.from({ length: 10 }, (_, i) => i >= 4),
    'they are bounded, too',
  )
})

t.test(
  'property: it keeps no more bytes than it may, and the last outcome of whoever was seen lately',
  async () => {
    const step = fc.record({ device: fc.nat(5), characters: fc.nat(400), isAsked: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), fc.integer({ min: 2000, max: 8000 }), (steps, most) => {
        const seen = new SeenOutcomes(most, 1e6)
        const told = steps.map(({ device, characters, isAsked }, number) => {
          const what = outcome(number, characters)
          seen.put(`${device}`, number, what, isAsked)
          assert.deepEqual(seen.get(`${device}`, number), what)
          return { device: `${device}`, ...what }
        })
        let bytes = 0
        const devices = [...new Set(told.map(({ device }) => device).toReversed())]
        for (const device of devices) {
          const last = told.findLastIndex((one) => one.device === device)
          if (seen.lastOf(device) === undefined) continue
          assert.equal(seen.lastOf(device), last)
          told.forEach(({ device: of, events }, number) => {
            if (of !== device) return
            const found = seen.get(device, number)!
            assert.equal(found.trip, told[last]!.trip)
            if (found.events.length > 0) assert.deepEqual(found.events, events)
            bytes += 2 * found.events.join('').length
          })
        }
        assert.ok(bytes <= most, `${bytes} of ${most}`)
        // Those that were seen latest are there.
        const there = devices.map((device) => seen.lastOf(device) !== undefined)
        assert.deepEqual(
          there,
          there.toSorted((a, b) => Number(b) - Number(a)),
        )
      }),
      runs(200),
    )
  },
)
