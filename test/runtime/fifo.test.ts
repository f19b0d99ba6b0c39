import t from 'tap'
import { Fifo } from '../../src/runtime/fifo.ts'
import { growthOf, ownCost } from '../growth/growth.ts'
import fc from '../kit/fastCheck.ts'

t.test('gives the same as an array', (t) => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.nat(), fc.constant('shift' as const)), { size: 'large' }), (steps) => {
      const fifo = new Fifo<number>()
      const array: number[] = []
      for (const step of steps) {
        if (step === 'shift') t.equal(fifo.shift(), array.shift())
        else {
          fifo.push(step)
          array.push(step)
        }
        if (fifo.length !== array.length || fifo.first !== array[0]) t.fail('another first item or length')
      }
      t.strictSame([...fifo], array)
      fifo.clear()
      t.strictSame([fifo.length, fifo.first, fifo.shift()], [0, undefined, undefined])
    }),
  )
  t.end()
})

t.test('taking one of many takes as long as taking one of few', async (t) => {
  const cost = (size: number) => {
    const fifo = new Fifo<number>()
    for (let i = 0; i < size; i++) fifo.push(i)
    return ownCost(() => {
      while (fifo.length > 0) fifo.shift()
    })
  }
  t.match(await growthOf(cost, 400_000, 5), { isLinear: true })
})
