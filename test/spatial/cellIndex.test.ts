import t from 'tap'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { CellTable } from '../../src/spatial/cellTable.ts'
import fc from '../kit/fastCheck.ts'
import { geofenceIndexContract } from './contract.ts'

geofenceIndexContract(t, 'cells', createGeofenceIndex)

const RUNS = Math.ceil(Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1) * 5)

/** Slots of a cell in the table, sorted. */
function slotsOf(table: CellTable, level: number, row: number, column: number): number[] {
  const slots: number[] = []
  const has = table.append(level, row, column, slots)
  if (has !== slots.length > 0) throw new Error('a cell without slots')
  return slots.toSorted((a, b) => a - b)
}

t.test('the table is a map of lists while it grows and shrinks', async () => {
  const LEVEL = 9
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 2, max: 40 }), (seed, addedPerTen) => {
      let state = seed | 1
      const random = (below: number) => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
        return (state >>> 8) % below
      }
      const table = new CellTable()
      const twin = new Map<string, Set<number>>()
      const regions = new Map<string, number>()
      for (let step = 0; step < 20_000; step++) {
        const [row, column, slot] = [random(30), random(120), random(12)]
        const cell = `${row} ${column}`
        const region = `${row >> 3} ${column >> 3}`
        const slots = twin.get(cell) ?? new Set()
        const adds = random(50) < 10 + addedPerTen || step < 3000
        if (adds && !slots.has(slot)) {
          table.addToCell(LEVEL, row, column, slot)
          table.addToRegion(LEVEL - 3, row >> 3, column >> 3)
          twin.set(cell, slots.add(slot))
          regions.set(region, (regions.get(region) ?? 0) + 1)
        } else if (!adds && slots.delete(slot)) {
          table.removeFromCell(LEVEL, row, column, slot)
          table.removeFromRegion(LEVEL - 3, row >> 3, column >> 3)
          regions.set(region, regions.get(region)! - 1)
        }
        const [lookedAt, beside] = [random(30), random(120)]
        const expected = [...(twin.get(`${lookedAt} ${beside}`) ?? [])].toSorted((a, b) => a - b)
        const found = slotsOf(table, LEVEL, lookedAt, beside)
        if (found.join() !== expected.join())
          throw new Error(`step ${step}: ${found.join()}, not ${expected.join()}`)
        const held = (regions.get(`${lookedAt >> 3} ${beside >> 3}`) ?? 0) > 0
        if (table.hasRegion(LEVEL - 3, lookedAt >> 3, beside >> 3) !== held) {
          throw new Error(`step ${step}: the region is ${held ? 'not ' : ''}held`)
        }
      }
    }),
    { numRuns: RUNS },
  )
})
