import type { EventCondition, SegmentDefinition, SegmentRule } from '../../src/model/segment.ts'
import type { Settings } from '../../src/model/settings.ts'
import { numbered } from '../../src/registry/settings/segmentSettings.ts'
import type { Random } from './world.ts'

/** Random segments of users, over the tags, chains and regions of random worlds. */

const TYPES = [
  'user.entered_geofence',
  'user.exited_geofence',
  'user.entered_beacon',
  'user.entered_place',
  'user.nearby_place_chain',
  'user.entered_region_state',
  'user.exited_region_country',
  'bought',
]

function randomEvent(random: Random): EventCondition {
  const type = random.pick(TYPES)
  const isOfPlaces = type.includes('place')
  return {
    type,
    ...(type.endsWith('_geofence') && random.chance(0.4) && { tag: random.pick(['shop', 'depot']) }),
    ...(isOfPlaces && random.chance(0.3) && { chain: random.pick(['ants', 'bees']) }),
    ...(isOfPlaces && random.chance(0.3) && { category: random.pick(['cafe', 'bar', 'food-beverage']) }),
    withinDays: random.pick([1, 3, 30, 90]),
    atLeast: random.pick([1, 1, 2, 3, 8]),
  }
}

function randomRule(random: Random, depth: number): SegmentRule {
  const rules = () => Array.from({ length: 1 + random.below(3) }, () => randomRule(random, depth + 1))
  switch (depth < 4 ? random.below(9) : 3 + random.below(6)) {
    case 0:
      return { all: rules() }
    case 1:
      return { any: rules() }
    case 2:
      return { not: randomRule(random, depth + 1) }
    case 3:
      return { metadata: random.chance(0.5) ? { team: random.below(3) } : { night: true } }
    case 4:
      return random.chance(0.5) ? { country: random.pick(['U', 'V']) } : { state: random.pick(['n', 'm']) }
    case 5:
      return { geofence: { tag: random.pick(['shop', 'depot']) } }
    case 6:
      return random.chance(0.5)
        ? { chain: random.pick(['ants', 'bees']) }
        : { category: random.pick(['cafe', 'bar']) }
    default:
      return { event: randomEvent(random) }
  }
}

export function randomSegments(random: Random): SegmentDefinition[] {
  return Array.from({ length: random.below(6) }, (_, i) => ({
    description: `Segment ${i}`,
    externalId: `s${i}`,
    rule: randomRule(random, 1),
  }))
}

/** No number comes twice in a process, whatever world it is drawn for. */
let lastNumber = 0

/** The settings of random segments whose rules are all set anew. */
export function randomSegmentSettings(random: Random): Pick<Settings, 'segments' | 'segmentsSet'> {
  const settings = numbered(randomSegments(random), { segments: [], segmentsSet: lastNumber })
  lastNumber = settings.segmentsSet
  return settings
}
