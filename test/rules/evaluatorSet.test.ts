import t from 'tap'
import { DEFAULT_FRAUD } from '../../src/model/fraud.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/model/settings.ts'
import { NO_ATLAS, type Atlas } from '../../src/rules/atlas.ts'
import { circumstancesOf } from '../../src/rules/circumstances.ts'
import { NO_STATE, type DeviceState } from '../../src/rules/deviceState.ts'
import { createEvaluators } from '../../src/rules/evaluators.ts'
import { EvaluatorSet } from '../../src/rules/evaluatorSet.ts'
import { ZONE, type ZoneKind } from '../../src/rules/safeZone.ts'
import { Engine, NOON } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'

const settingsOf = fc
  .record({
    regions: fc.boolean(),
    places: fc.boolean(),
    nearbyPlaceChains: fc.subarray(['a-chain']),
    blockedCountries: fc.subarray(['FR']),
    allowedCountries: fc.subarray(['DE']),
    fraud: fc.boolean().map((enabled) => ({ ...DEFAULT_FRAUD, enabled })),
  })
  .map((some): Settings => ({ ...DEFAULT_SETTINGS, ...some }))

/** Any question shows that an evaluator is on. */
const SILENT = new Proxy(NO_ATLAS, {
  get() {
    throw new Error('the atlas was asked')
  },
})

function situationOf(settings: Settings, atlas: Atlas) {
  const engine = new Engine()
  const { index, beacons, trips, zones } = engine.world.scope(1)
  const update = engine.update({ deviceId: 'd', latitude: 0, longitude: 0, accuracy: 5 })
  const none = () => undefined
  const view = { index, settings, zones, beacons, trips, revision: 1, atlas }
  return {
    update,
    view: { ...view, geofence: none, geofenceNamed: none },
    now: circumstancesOf(update, NOON, view),
  }
}

t.test('property: the evaluators that are not needed would change nothing', async () => {
  fc.assert(
    fc.property(settingsOf, (settings) => {
      const all = createEvaluators()
      const needed = new EvaluatorSet(all).neededFor(NO_STATE, settings)
      const others = all.filter((one) => !needed.includes(one))
      const on = [
        settings.blockedCountries.length + settings.allowedCountries.length > 0,
        settings.regions,
        settings.places || settings.nearbyPlaceChains.length > 0,
        settings.fraud.enabled,
      ]
      const isComplete = needed.length === 2 + on.filter(Boolean).length
      const situation = situationOf(settings, SILENT)
      const areIdle = others.every((one) => one.facts(NO_STATE, situation) === undefined)
      return isComplete && areIdle && needed.every((one, i) => i === 0 || isAfter(all, one, needed[i - 1]!))
    }),
  )
})

function isAfter<T>(all: readonly T[], one: T, other: T): boolean {
  return all.indexOf(one) > all.indexOf(other)
}

t.test('a device with a state of what was turned off needs all evaluators', async (t) => {
  const all = createEvaluators()
  const set = new EvaluatorSet(all)
  t.equal(set.neededFor(NO_STATE, DEFAULT_SETTINGS).length, 2)
  // Geofences and beacons are always on, and segments are judged by no evaluator.
  const others = new Set(['visits', 'approaches', 'crossed', 'beacons', 'segments'])
  const parts = Object.entries(NO_STATE).filter(([part]) => !others.has(part))
  t.equal(parts.length, 3)
  for (const [part, empty] of parts) {
    const state: DeviceState = { ...NO_STATE, [part]: { ...empty } }
    t.equal(set.neededFor(state, DEFAULT_SETTINGS), all, part)
  }
  const visits = [{ geofenceId: 'f'.repeat(24), enteredAt: NOON, dwelled: false }]
  t.equal(set.neededFor({ ...NO_STATE, visits }, DEFAULT_SETTINGS).length, 2)
})

t.test('an edit of the settings turns evaluators on and off', async (t) => {
  const set = new EvaluatorSet(createEvaluators())
  const counts = [DEFAULT_SETTINGS, { ...DEFAULT_SETTINGS, regions: true }, { ...DEFAULT_SETTINGS }].map(
    (settings) => set.neededFor(NO_STATE, settings).length,
  )
  t.strictSame(counts, [2, 3, 2])
})

t.test('what is counted and kept is of the evaluators that were run', async (t) => {
  const kept: string[] = []
  const evaluator = (name: string, zone: ZoneKind, meetings: number) => ({
    rank: 1,
    zone,
    meetings,
    facts: () => undefined,
    step: () => ({ transitions: [] }),
    limits: () => ({ meters: 1, until: 1, untilReceived: 1 }),
    remember: () => void kept.push(name),
  })
  const silent = { ...evaluator('silent', ZONE.regions, 0), meetings: undefined, remember: undefined }
  const set = new EvaluatorSet([
    evaluator('near', ZONE.geofences, 3),
    evaluator('far', ZONE.places, 4),
    silent as never,
  ])
  const { table } = new Engine().partitions[0]!
  const left = [{ meters: 1, until: 1, untilReceived: 1 }, undefined, undefined]
  t.equal(set.meetings(undefined), 7)
  t.equal(set.meetings(left), 4)
  set.remember(table, 0, NO_STATE, left)
  t.strictSame(kept, ['far'])
})
