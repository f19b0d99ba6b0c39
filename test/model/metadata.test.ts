/** Filters by metadata. */
import t from 'tap'
import { metadataMatcher } from '../../src/model/metadata.ts'

t.test('metadata filters: a text, or the boolean or number that it stands for', async (t) => {
  const CASES: readonly (readonly [value: string | number | boolean, wanted: string, matches: boolean])[] = [
    ['red', 'red', true],
    ['red', 'Red', false],
    [7, '7', true],
    [7, '7.0', true],
    [7, '0x7', false],
    [7, '', false],
    [0, '', false],
    ['7', '7', true],
    ['007', '007', true],
    ['007', '7', false],
    [true, 'true', true],
    [true, '1', false],
    [false, 'false', true],
    ['true', 'true', true],
  ]
  for (const [value, wanted, matches] of CASES) {
    t.equal(
      metadataMatcher({ key: wanted })({ key: value }),
      matches,
      `${JSON.stringify(value)} by ${wanted}`,
    )
  }
  t.equal(metadataMatcher({})(undefined), true)
  t.equal(metadataMatcher({ key: '1' })(undefined), false)
  t.equal(metadataMatcher({ a: '1', b: '3' })({ a: 1, b: 2 }), false)
  t.equal(metadataMatcher({ toString: 'x' })({}), false)
})
