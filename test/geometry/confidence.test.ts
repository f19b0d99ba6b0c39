import t from 'tap'
import { entryConfidence, evaluatedAccuracy, exitConfidence } from '../../src/geometry/confidence.ts'

t.test('accuracy as evaluated', async (t) => {
  const cases: [number | undefined, number][] = [
    [undefined, 0],
    [0, 0],
    [-5, 0],
    [Number.NaN, 0],
    [12.5, 12.5],
    [50_000, 50_000],
    [50_001, 50_000],
    [Infinity, 50_000],
  ]
  for (const [sent, expected] of cases) t.equal(evaluatedAccuracy(sent), expected, `${sent}`)
})

t.test('entry: 3 disc completely inside, 2 at least half of it, else 1', async (t) => {
  const cases: [distance: number, coverage: number, accuracy: number, expected: number][] = [
    [-100, 1, 100, 3],
    [-100.1, 1, 100, 3],
    [-99.9, 0.9999, 100, 2],
    [-10, 0.5, 100, 2],
    [-10, 0.4999, 100, 1],
    [5, 0.6, 100, 2],
    [0, 0.25, 10, 1],
    [0, 1, 0, 3],
    [-1, 1, 0, 3],
  ]
  for (const [d, c, a, expected] of cases) t.equal(entryConfidence(d, c, a), expected, `${d} ${c} ${a}`)
})

t.test('exit: 3 disc completely outside, 2 half its radius away, else 1', async (t) => {
  const cases: [distance: number, accuracy: number, expected: number][] = [
    [100, 100, 3],
    [99.9, 100, 2],
    [50, 100, 2],
    [49.9, 100, 1],
    [0.1, 100, 1],
    [-1, 100, 1],
    [0.1, 0, 3],
  ]
  for (const [d, a, expected] of cases) t.equal(exitConfidence(d, a), expected, `${d} ${a}`)
})
