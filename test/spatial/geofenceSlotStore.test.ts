import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { GeofenceProperties } from '../../src/model/geofence.ts'
import { parseOperatingHours } from '../../src/model/operatingHours.ts'
import { GeofenceSlotStore } from '../../src/spatial/geofenceSlotStore.ts'
import { SharedTexts, UNSHARED } from '../../src/spatial/sharedTexts.ts'
import fc from '../kit/fastCheck.ts'

const RUNS = Math.ceil(Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1) * 100)

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ minLength: 60, maxLength: 300 }),
  // Half of a surrogate pair, as in a text that was cut.
  fc.constantFrom('', 'é', '\u0100', '\ud800', 'ÿ'.repeat(64), '\0'),
)
const id = fc.oneof(
  { weight: 3, arbitrary: fc.nat(12).map((number) => number.toString(16).padStart(24, '0')) },
  { weight: 1, arbitrary: fc.constantFrom('a', 'é', 'F'.repeat(24), 'g'.repeat(24), 'f'.repeat(25)) },
)
const time = fc.oneof(
  fc.integer({ min: -1e12, max: 4e12 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const hours = fc
  .constantFrom({ Mon: [['9:00 AM', '17:30']] }, { sunday: [], tue: [['22:00', '02:00']] })
  .map((source) => parseOperatingHours(source)!)

const geofence: fc.Arbitrary<GeofenceProperties> = fc.record(
  {
    id,
    scope: fc.nat(0xffff_ffff),
    tag: text,
    externalId: text,
    description: text,
    type: fc.constantFrom('circle', 'polygon', 'isochrone'),
    enabled: fc.boolean(),
    timeZone: fc.oneof(fc.constant('Europe/Berlin'), text),
    createdAt: time,
    updatedAt: time,
    mode: fc.constantFrom('car', 'foot'),
    metadata: fc.dictionary(text, fc.oneof(text, fc.integer(), fc.boolean()), { noNullPrototype: true }),
    operatingHours: hours,
    stopDetection: fc.boolean(),
    disableAfter: fc.nat(),
    deleteAfter: fc.nat(),
    userId: text,
    userIds: fc.array(text, { maxLength: 3 }),
    ip: fc.constant('10.0.0.0/8'),
    dwellThreshold: fc.integer({ min: 1, max: 60 }),
    placeId: text,
    tripApproachingThreshold: fc.nat(60),
  },
  {
    noNullPrototype: true,
    requiredKeys: [
      ...(['id', 'scope', 'tag', 'externalId', 'description'] as const),
      ...(['type', 'enabled', 'timeZone', 'createdAt', 'updatedAt'] as const),
    ],
  },
)

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ put: geofence }) },
    { weight: 1, arbitrary: fc.record({ remove: id }) },
  ),
  { minLength: 5, maxLength: 60, size: 'max' },
)

/** The slotStore through puts, replacements and removals, compared with a map of objects. */
function agreesWithAMap(texts: () => SharedTexts): void {
  fc.assert(
    fc.property(steps, (sequence) => {
      const slotStore = new GeofenceSlotStore(texts())
      const twin = new Map<string, { slot: number; held: GeofenceProperties }>()
      for (const step of sequence) {
        if ('put' in step) {
          const slot = slotStore.put(step.put)
          const before = twin.get(step.put.id)
          if (before !== undefined && before.slot !== slot) throw new Error('an edit changed the slot')
          twin.set(step.put.id, { slot, held: step.put })
        } else {
          const slot = slotStore.slotOf(step.remove)
          if (slot !== (twin.get(step.remove)?.slot ?? -1))
            throw new Error(`${step.remove} is in slot ${slot}`)
          if (slot >= 0) slotStore.remove(slot)
          twin.delete(step.remove)
        }
        if (slotStore.size !== twin.size) throw new Error(`${slotStore.size}, not ${twin.size}`)
        for (const [known, { slot, held }] of twin) {
          if (slotStore.slotOf(known) !== slot || !slotStore.has(slot))
            throw new Error(`${known} is not in slot ${slot}`)
          // Twice, because the second call returns the cached object.
          for (const got of [slotStore.get(slot), slotStore.get(slot)]) {
            if (!isDeepStrictEqual(got, held))
              throw new Error(`${JSON.stringify(got)}, not ${JSON.stringify(held)}`)
          }
          const isForAll = held.enabled && (held.userId ?? held.userIds ?? held.ip) === undefined
          const { disableAfter, deleteAfter, operatingHours, dwellThreshold } = held
          const own = disableAfter ?? deleteAfter ?? operatingHours ?? dwellThreshold
          const isPlain = isForAll && own === undefined
          const columns = [slotStore.createdAt(slot), slotStore.updatedAt(slot)]
          if (!isDeepStrictEqual(columns, [held.createdAt, held.updatedAt])) throw new Error(`${columns}`)
          if (slotStore.isUnrestricted(slot) !== isForAll || slotStore.isPlain(slot) !== isPlain)
            throw new Error(`${JSON.stringify(held)} is told wrongly`)
          for (const { held: other } of twin.values()) {
            if (slotStore.hasTag(slot, other.tag) !== (other.tag === held.tag)) throw new Error('another tag')
            if (slotStore.hasExternalId(slot, other.externalId) !== (other.externalId === held.externalId))
              throw new Error('another externalId')
          }
        }
      }
    }),
    { numRuns: RUNS },
  )
}

const PLAIN: GeofenceProperties = {
  id: 'a'.repeat(24),
  scope: 2,
  tag: 'shop',
  externalId: '1',
  description: '',
  type: 'circle',
  enabled: true,
  timeZone: 'Europe/Berlin',
  createdAt: 0,
  updatedAt: 0,
}

t.test('geofences come back unchanged', async () => agreesWithAMap(() => new SharedTexts()))

t.test('more geofences and more tags than are kept unpacked or shared', async (t) => {
  const slotStore = new GeofenceSlotStore()
  const count = 70_000
  const one = (number: number, description = ''): GeofenceProperties => ({
    ...PLAIN,
    id: number.toString(16).padStart(24, '0'),
    tag: `tag ${number}`,
    externalId: `${number}`,
    description,
    createdAt: number,
    updatedAt: number,
  })
  for (let i = 0; i < count; i++) slotStore.put(one(i))
  // They share one place.
  const slots = [slotStore.slotOf(one(1).id), slotStore.slotOf(one(65_537).id)] as const
  for (let i = 0; i < 3; i++) {
    t.strictSame(slotStore.get(slots[0]), one(1))
    t.strictSame(slotStore.get(slots[1]), one(65_537))
  }
  slotStore.put(one(1, 'edited'))
  t.equal(slotStore.get(slots[0]).description, 'edited')
  const last = slotStore.slotOf(one(count - 1).id)
  t.ok(slotStore.hasTag(last, `tag ${count - 1}`))
  t.notOk(slotStore.hasTag(last, `tag ${count - 2}`))
  for (let i = 0; i < count; i += 2) slotStore.remove(slotStore.slotOf(one(i).id))
  t.equal(slotStore.size, count / 2)
  let wrong = 0
  for (let i = 0; i < count; i++) {
    const slot = slotStore.slotOf(one(i).id)
    if (i % 2 === 0 ? slot !== -1 : slotStore.get(slot).externalId !== `${i}`) wrong++
  }
  t.equal(wrong, 0)
})

t.test('and when there is no room for more shared texts', async (t) => {
  const full = new SharedTexts()
  for (let i = 0; full.share(`text ${i}`) !== UNSHARED; i++);
  t.equal(full.share('Europe/Berlin'), UNSHARED, 'it is full')
  agreesWithAMap(() => full)
  t.equal(new SharedTexts().share('Europe/Berlin'), 0, 'the texts of another registry are not in its way')
})

t.test('geofences with the same operating hours share them', async (t) => {
  const texts = new SharedTexts()
  const stores = [new GeofenceSlotStore(texts), new GeofenceSlotStore(texts)]
  const definition = { Mon: [['9:00 AM', '17:30']] }
  const kept = stores.map((slotStore, scope) => {
    const operatingHours = parseOperatingHours(definition)!
    const slot = slotStore.put({ ...PLAIN, scope, operatingHours })
    return slotStore.get(slot).operatingHours
  })
  t.strictSame(kept[0], parseOperatingHours(definition))
  t.equal(kept[0], kept[1], 'also in two scopes')
  t.equal(texts.parseHours(definition), kept[0], 'and the next one that is read')
})
