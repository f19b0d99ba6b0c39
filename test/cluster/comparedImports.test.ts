/** Processes tell each other which map regions they have; messages are lost, and processes come and go. */
import t from 'tap'
import { ComparedImports, type OtherImports } from '../../src/cluster/gateway/comparedImports.ts'
import type { Calls } from '../../src/cluster/nats/calls.ts'
import { SimulatedTime } from '../kit/simulatedTime.ts'

/** Every process that listens answers, itself included, unless the network is off. */
class Network {
  isOff = false
  readonly #listeners = new Set<Parameters<Calls['serve']>[1]>()

  readonly calls: Calls = {
    ask: () => Promise.reject(new Error('not used')),
    askAll: (_, answered) => ({
      send: (question) => {
        if (this.isOff) return
        for (const asked of this.#listeners) asked(question, answered)
      },
      end() {},
    }),
    serve: (_, asked) => {
      this.#listeners.add(asked)
      return { stop: async () => void this.#listeners.delete(asked) }
    },
  }
}

t.test('the same in all, a difference, and the same again', async (t) => {
  const network = new Network()
  const time = new SimulatedTime()
  const made = (process: string, imports: string[]) => {
    const told: (readonly OtherImports[])[] = []
    const differ = (others: readonly OtherImports[]): void => void told.push(others)
    const parts = { calls: network.calls, time, process, place: `gateway ${process}`, differ }
    const compared = new ComparedImports({ ...parts, imports: () => imports })
    compared.start()
    return { compared, imports, told }
  }
  const round = (): Promise<void> => time.runUntil(time.now() + 11_000)
  const a = made('a', ['montevideo 11111111'])
  t.equal(a.compared.condition, 'montevideo 11111111')
  const b = made('b', ['montevideo 11111111'])
  await round()
  t.equal(a.compared.condition, 'montevideo 11111111; the same in 1 other process')
  t.strictSame([a.told, b.told], [[], []], 'nothing to tell')

  b.imports.push('uruguay 22222222')
  const c = made('c', ['montevideo 33333333'])
  await round()
  t.equal(
    a.compared.condition,
    'montevideo 11111111; warning: not the same in all processes: montevideo 11111111, montevideo 33333333, uruguay 22222222; the log says in which',
  )
  t.strictSame(a.told.at(-1), [
    { place: 'gateway b', lacks: [], hasBesides: ['uruguay 22222222'] },
    { place: 'gateway c', lacks: ['montevideo 11111111'], hasBesides: ['montevideo 33333333'] },
  ])
  const times = a.told.length
  await round()
  t.equal(a.told.length, times, 'once')

  await c.compared.stop()
  a.imports.push('uruguay 22222222')
  await round()
  t.equal(
    a.compared.condition,
    'montevideo 11111111, uruguay 22222222; the same in 1 other process',
    'who has left is not compared',
  )
  t.strictSame(a.told.at(-1), [])
  network.isOff = true
  await round()
  t.equal(a.compared.condition, 'montevideo 11111111, uruguay 22222222', 'nobody is heard')
  await Promise.all([a.compared.stop(), b.compared.stop()])
})

t.test('answers of other versions, and of too many processes, do no harm', async (t) => {
  const time = new SimulatedTime()
  let answered: (answer: Uint8Array) => void = () => {}
  const calls: Calls = {
    ask: () => Promise.reject(new Error('not used')),
    askAll: (_, take) => {
      answered = take
      return { send() {}, end() {} }
    },
    serve: () => ({ stop: async () => {} }),
  }
  const parts = { calls, time, process: 'a', place: 'a', imports: () => ['x 1'], differ() {} }
  const compared = new ComparedImports(parts)
  compared.start()
  for (const text of ['', '{', 'null', '[]', '{"process":1}', '{"process":"b","place":"b","imports":7}'])
    answered(Buffer.from(text))
  answered(Buffer.from('{"process":"b","place":"b","imports":["x 1",2]}'))
  for (let i = 0; i < 2000; i++)
    answered(Buffer.from(JSON.stringify({ process: `p${i}`, place: '', imports: ['x 1'] })))
  await time.runUntil(time.now() + 6000)
  t.equal(compared.condition, 'x 1; the same in 1000 other processes')
  await compared.stop()
})
