/** Compares the second part of a user's head with one that is written anew. */
import assert from 'node:assert/strict'
import t from 'tap'
import { HeadRests } from '../../src/actor/headRests.ts'
import type { HeadRest } from '../../src/actor/port.ts'
import type { Profile } from '../../src/model/device.ts'
import type { ScopeView } from '../../src/rules/port.ts'
import fc from '../kit/fastCheck.ts'
import { runs } from './kit.ts'

/** Everything that the part is written from. */
const MEMBERS = ['regions', 'fraud', 'segments', 'beacons', 'stay', 'nearby', 'visited'] as const
type Named = Readonly<Record<(typeof MEMBERS)[number], { readonly name: string; readonly length: number }>>

function write(profile: Profile, { revision }: ScopeView): string {
  const { places, ...others } = profile
  const all = { ...others, ...places } as unknown as Named
  return `é ${revision} ${MEMBERS.map((member) => all[member].name).join()}`
}

function textOf({ bytes, isAscii }: HeadRest): string {
  const text = Buffer.from(bytes, 'latin1').toString()
  if (isAscii) assert.equal(bytes, text)
  return text
}

const profiles = fc
  .record(
    Object.fromEntries(
      MEMBERS.map((member) => [member, fc.constantFrom({ name: 'a', length: 0 }, { name: 'b', length: 1 })]),
    ) as unknown as { [member in keyof Named]: fc.Arbitrary<Named[member]> },
  )
  .map(({ stay, nearby, visited, ...others }) => {
    return { ...others, places: { stay, nearby, visited, first: undefined } } as unknown as Profile
  })

t.test('each part is the one that would be written now', async (t) => {
  const asked = fc.tuple(profiles, fc.nat(3), fc.integer({ min: 1, max: 2 }), fc.boolean())
  fc.assert(
    fc.property(fc.array(asked, { maxLength: 60 }), (all) => {
      const rests = new HeadRests()
      for (const [profile, row, revision, isForgotten] of all) {
        const view = { revision } as ScopeView
        if (isForgotten) rests.forget(row)
        assert.equal(textOf(rests.of(row, profile, view, write)), write(profile, view))
      }
    }),
    runs(500),
  )
  t.pass('all are')
})

const [profile] = fc.sample(
  profiles.filter(({ beacons }) => beacons.length === 0),
  1,
)
const view = { revision: 1 } as ScopeView

t.test('a part is written once for a profile, and users with the same text share it', async (t) => {
  const rests = new HeadRests()
  let written = 0
  const counted = (...args: Parameters<typeof write>) => {
    written++
    return write(...args)
  }
  const first = rests.of(5, profile!, view, counted)
  t.equal(rests.of(5, { ...profile! }, view, counted), first)
  t.equal(written, 1)
  t.equal(rests.of(2, profile!, view, counted), first)
  t.equal(written, 2)
})

t.test('very many or very long texts are not all remembered', async (t) => {
  const rests = new HeadRests()
  const texts = Array.from({ length: 5000 }, (_, i) => `${i}`)
  const made = texts.map((text, row) => rests.of(row, profile!, view, () => text))
  t.strictSame(made.map(textOf), texts)
  t.not(
    rests.of(6000, profile!, view, () => '0'),
    made[0],
    'the first one is forgotten',
  )
  const long = 'x'.repeat(10_000)
  t.not(
    rests.of(6001, profile!, view, () => long),
    rests.of(6002, profile!, view, () => long),
  )
})
