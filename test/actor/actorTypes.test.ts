/** An actor type that consists of a file and a line in the list of types works in the embedded engine. */
import assert from 'node:assert/strict'
import t from 'tap'
import { ACTOR_TYPES } from '../../src/actor/actorTypes.ts'
import { ADD, COUNTERS, WITH_COUNTERS, type Addition } from './counters.ts'
import fc from '../kit/fastCheck.ts'
import { applied, Engine, HERE, runs, stateOf } from './kit.ts'

const types = WITH_COUNTERS

t.test('numbers and names of types, and names of commands, are unique', async (t) => {
  const commands = ACTOR_TYPES.flatMap((type) => type.commands)
  for (const names of [
    ACTOR_TYPES.map(({ number }) => number),
    ACTOR_TYPES.map(({ name }) => name),
    commands.map(({ name }) => name),
  ])
    t.equal(new Set<unknown>(names).size, names.length)
})

t.test(
  'property: however the process is killed, each addition is there once, alongside devices',
  async () => {
    const step = fc.record({
      counter: fc.constantFrom('a', 'b', 'c'),
      amount: fc.nat(15),
      what: fc.constantFrom('add', 'add', 'add', 'again', 'update', 'snapshot', 'kill', 'lose'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        let engine = new Engine({ types, partitions: 2 })
        const totals = new Map<string, number>()
        let events = 0
        let number = 0
        let last: { readonly addition: Addition; readonly told: number } | undefined
        for (const { counter, amount, what } of steps) {
          const { host } = engine
          if (what === 'add') {
            const addition = { counter, amount, sender: 's', number: ++number }
            const before = totals.get(counter) ?? 0
            const told = await host.execute(ADD, addition, 10)
            totals.set(counter, before + amount)
            assert.equal(told, before + amount)
            if (Math.floor(told / 10) > Math.floor(before / 10)) events++
            last = { addition, told }
          } else if (what === 'again' && last !== undefined) {
            assert.equal(await host.execute(ADD, last.addition, 10), last.told)
          } else if (what === 'update') {
            applied(await engine.track(engine.update({ ...HERE, deviceId: counter })))
          } else if (what === 'snapshot') {
            await engine.snapshot()
          } else if (what === 'kill') {
            engine = engine.restarted({ types })
          } else if (what === 'lose') {
            // A frame in flight is not durable, and no one has been answered yet.
            engine.log.holding = true
            let isTold = false
            const lost = { counter, amount, sender: 's', number: number + 1 }
            void host.execute(ADD, lost, 10).then(() => (isTold = true))
            await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
            assert.equal(isTold, false)
            engine = engine.restarted({ types, log: engine.log.killed() })
          }
        }
        const found = engine.restarted({ types })
        const counters = found.partitions.flatMap((one) => [...one.tableOf(COUNTERS).counters.values()])
        assert.deepEqual(counters.map(({ name, total }) => [name, total]).toSorted(), [...totals].toSorted())
        assert.equal(found.events.all.length, events)
        assert.equal(new Set(found.events.all.map(({ id }) => id)).size, events)
        assert.deepEqual(stateOf(found.partitions), stateOf(engine.partitions))
      }),
      runs(60),
    )
  },
)

t.test('a command is refused as a whole, and one in flight is answered once it is durable', async (t) => {
  const engine = new Engine({ types, partitions: 1 })
  const addition = { counter: 'a', amount: -1, sender: 's', number: 1 }
  await t.rejects(engine.host.execute(ADD, addition, 10), { code: 400, param: 'amount' })
  t.equal(engine.log.offset, 0)
  engine.log.holding = true
  let told: number | undefined
  void engine.host.execute(ADD, { ...addition, amount: 3 }, 10).then((total) => (told = total))
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  t.equal(told, undefined)
  engine.log.release()
  await engine.host.drained()
  t.equal(told, 3)
})

t.test('rows of an unknown type are refused by name, in the log and in a snapshot', async (t) => {
  const engine = new Engine({ types, partitions: 1 })
  await engine.host.execute(ADD, { counter: 'a', amount: 3, sender: 's', number: 1 }, 10)
  const refused = { message: /a row is of actor type 200, which is not known: written by a newer release\?/ }
  t.throws(() => engine.restarted({ types: ACTOR_TYPES }), refused)
  await engine.snapshot()
  t.throws(() => engine.restarted({ types: ACTOR_TYPES }), refused)
  t.doesNotThrow(() => engine.restarted({ types }))
})
