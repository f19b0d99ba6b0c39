import type { Place } from '../../model/place.ts'
import type { Region } from '../../model/region.ts'

/** What an `_id` names, if anything. */
export interface FoundById {
  readonly place?: Place | undefined
  readonly region?: Region | undefined
}
