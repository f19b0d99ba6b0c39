import { codesIn } from '../model/region.ts'
import type { Settings } from '../model/settings.ts'
import { Unfetched, Unknown, type RegionsHere } from './atlas.ts'
import type { DeviceState } from './deviceState.ts'
import type { Context, Evaluator, Situation, Spot, Step } from './evaluator.ts'
import type { ScopeView } from './port.ts'
import { NO_LIMITS, ZONE, type ZoneLimits } from './safeZone.ts'
import { Unready } from './unready.ts'

/**
 * The update is refused because of the country that it comes from, or because the country is not known at the moment.
 */
export class Barred extends Unready {
  /** Whether the country is known. */
  readonly isCertain: boolean

  constructor(isCertain: boolean) {
    super()
    this.isCertain = isCertain
  }
}

const BARRED = new Barred(true)
const UNCERTAIN = new Barred(false)

const NOTHING: Step = { transitions: [] }

/**
 * Refuses updates from blocked countries, and from outside the allowed ones, before anything is evaluated. It has no
 * state. Its safe zone ends at the nearest border.
 */
export class CountryEvaluator implements Evaluator<RegionsHere> {
  readonly rank = 0
  readonly zone = ZONE.regions

  isOff({ blockedCountries, allowedCountries }: Settings): boolean {
    return blockedCountries.length === 0 && allowedCountries.length === 0
  }

  facts(_before: DeviceState, { update, view, now }: Situation): RegionsHere | Unready | undefined {
    return this.isOff(now.settings) ? undefined : admit(view, now.settings, update.latitude, update.longitude)
  }

  step(): Step {
    return NOTHING
  }

  limits(_before: DeviceState, { clearanceMeters }: RegionsHere): ZoneLimits {
    return { ...NO_LIMITS, meters: clearanceMeters }
  }

  context({ view, latitude, longitude }: Spot): Partial<Context> | Unfetched | Barred {
    if (this.isOff(view.settings)) return {}
    const here = admit(view, view.settings, latitude, longitude)
    return here instanceof Unready ? here : {}
  }
}

function admit(
  { atlas }: ScopeView,
  { blockedCountries, allowedCountries }: Settings,
  latitude: number,
  longitude: number,
): RegionsHere | Unfetched | Barred {
  const here = atlas.regionsAt(latitude, longitude)
  if (here instanceof Unfetched) return here
  if (here instanceof Unknown) return UNCERTAIN
  const [country] = codesIn(here.codes)
  if (country !== undefined && blockedCountries.includes(country)) return BARRED
  const isOutside = country === undefined || !allowedCountries.includes(country)
  return allowedCountries.length > 0 && isOutside ? BARRED : here
}
