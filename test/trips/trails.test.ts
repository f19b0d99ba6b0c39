/** The locations of the trips of a table, compared with a trail of each. */
import assert from 'node:assert/strict'
import t from 'tap'
import { Trail } from '../../src/trips/trail.ts'
import { Trails } from '../../src/trips/trails.ts'
import { runs } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'

const step = fc.record({
  row: fc.nat(3),
  seconds: fc.nat(40),
  meters: fc.nat(40),
  isDeleted: fc.integer({ min: 0, max: 30 }).map((n) => n === 0),
})

t.test('property: few locations in bytes and many in a trail are the same', async () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const trails = new Trails()
      const single = new Map<number, Trail>()
      let time = 0
      let latitude = 0
      for (const { row, seconds, meters, isDeleted } of steps) {
        if (isDeleted) {
          trails.delete(row)
          single.delete(row)
        }
        time += 1000 * seconds
        latitude += meters / 111_320
        const point = { time, latitude, longitude: -56 }
        const trail = single.get(row) ?? new Trail()
        assert.equal(trails.wants(row, point), trail.wants(point))
        if (!trail.wants(point)) continue
        trail.add(point)
        single.set(row, trail)
        trails.add(row, point)
      }
      for (let row = 0; row <= 3; row++) {
        const trail = single.get(row)
        assert.equal(trails.has(row), trail !== undefined)
        assert.deepEqual([...(trails.get(row) ?? [])], [...(trail ?? [])])
        assert.ok(trails.memory(row) >= 24 * (trail?.length ?? 0))
      }
    }),
    runs(200),
  )
})
