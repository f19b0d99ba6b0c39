import assert from 'node:assert/strict'
import t from 'tap'
import { nameHash } from '../../src/runtime/nameHash.ts'
import { runs } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'

/** HalfSipHash over bytes, as in its authors' code. */
function halfSipHash(
  bytes: Buffer,
  [key0, key1]: readonly [number, number],
  rounds: number,
  last: number,
): number {
  let [v0, v1, v2, v3] = [key0, key1, 0x6c796765 ^ key0, 0x74656462 ^ key1]
  const turn = (value: number, by: number) => (value << by) | (value >>> (32 - by))
  const mix = (count: number) => {
    for (let i = 0; i < count; i++) {
      v0 = (v0 + v1) | 0
      v1 = turn(v1, 5) ^ v0
      v0 = turn(v0, 16)
      v2 = (v2 + v3) | 0
      v3 = turn(v3, 8) ^ v2
      v0 = (v0 + v3) | 0
      v3 = turn(v3, 7) ^ v0
      v2 = (v2 + v1) | 0
      v1 = turn(v1, 13) ^ v2
      v2 = turn(v2, 16)
    }
  }
  const whole = bytes.length - (bytes.length % 4)
  const tail = Buffer.alloc(4)
  bytes.copy(tail, 0, whole)
  tail[3] = bytes.length & 255
  for (const word of [
    ...Array.from({ length: whole / 4 }, (_, i) => bytes.readInt32LE(i * 4)),
    tail.readInt32LE(),
  ]) {
    v3 ^= word
    mix(rounds)
    v0 ^= word
  }
  v2 ^= 0xff
  mix(last)
  return v1 ^ v3
}

t.test('names are hashed with HalfSipHash', async (t) => {
  // The authors' vectors of HalfSipHash-2-4: key 00 01 … 07, messages of 0, 1, 2, … bytes 00 01 02 …
  const vectors = ['a9359f5b', '27475ab8', 'fa62a603', '8afee704', '2a6e4689']
  vectors.forEach((hex, length) => {
    const found = Buffer.alloc(4)
    found.writeInt32LE(
      halfSipHash(Buffer.from(Array.from({ length }, (_, i) => i)), [0x03020100, 0x07060504], 2, 4),
    )
    t.equal(found.toString('hex'), hex)
  })
  const word = fc.integer()
  fc.assert(
    fc.property(
      fc.nat(),
      fc.string({ unit: 'binary', maxLength: 40 }),
      word,
      word,
      (scope, text, key0, key1) => {
        const bytes = Buffer.concat([Buffer.alloc(4), Buffer.from(text, 'utf16le')])
        bytes.writeInt32LE(scope | 0)
        assert.equal(nameHash(scope, text, key0, key1), halfSipHash(bytes, [key0, key1], 1, 3))
      },
    ),
    runs(300),
  )
  t.not(nameHash(2, 'a'), nameHash(2, 'a', 1, 2), 'the key of a process is its own')
})
