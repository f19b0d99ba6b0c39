import type { EventRecord, Move, Mover, Place } from './movers.ts'

/** What a guest's user must be after its last acknowledged update. */
interface GuestState {
  readonly place: string | undefined
  readonly country: string
  readonly passed: boolean
  readonly segments: readonly string[]
}

/** A café of the sample. */
export interface Cafe {
  readonly id: string
  readonly latitude: number
  readonly longitude: number
}

/** Across the border, in the middle of Buenos Aires. */
const ABROAD = { latitude: -34.6037, longitude: -58.3816 }
/** So many visits make a regular. */
const REGULAR_VISITS = 5
/** A distance that nobody jumps, so that only made up locations fail. */
const NO_JUMP_METERS = 20_100_000

/** Everything that knows the world is on. */
export const GUEST_SETTINGS = {
  places: true,
  regions: true,
  fraud: { enabled: true, jumpMeters: NO_JUMP_METERS },
  segments: [
    { description: 'In a café', externalId: 'guests', rule: { category: 'cafe' } },
    { description: 'Abroad', externalId: 'abroad', rule: { country: 'AR' } },
    {
      description: 'Regulars',
      externalId: 'regulars',
      rule: { event: { type: 'user.entered_place', withinDays: 90, atLeast: REGULAR_VISITS } },
    },
  ],
}

/**
 * Visits a café in Uruguay with every other update, and in between is in Argentina, where every other location is made up: so
 * each update has events of regions and places, and some of fraud, and segments change.
 */
export class Guest implements Mover {
  readonly deviceId: string
  readonly events: string[] = []
  place: Place | undefined
  readonly #cafe: Cafe
  #sent = 0

  constructor(deviceId: string, cafe: Cafe) {
    this.deviceId = deviceId
    this.#cafe = cafe
  }

  next(): Move {
    const { isVisit, isMocked } = turnOf(this.#sent)
    const { latitude, longitude } = isVisit ? this.#cafe : ABROAD
    const body = {
      deviceId: this.deviceId,
      latitude,
      longitude,
      accuracy: 5,
      stopped: isVisit,
      mocked: isMocked,
      stream: this.deviceId,
      sequence: this.#sent,
    }
    return { body, events: this.#eventsOf(this.#sent) }
  }

  applied(): void {
    const { body, events } = this.next()
    this.place = { latitude: body.latitude, longitude: body.longitude, updatedAt: undefined }
    this.events.push(...events)
    this.#sent++
  }

  textOf({ type, place, region, failureReasons }: EventRecord & Subject): string {
    return `${type} ${place?._id ?? region?.code ?? failureReasons?.join() ?? ''}`
  }

  /** What is wrong with the user's record; undefined if nothing is. */
  faultOf({ place, country, fraud, segments }: GuestRecord): string | undefined {
    const { isVisit, isMocked } = turnOf(this.#sent - 1)
    const visits = Math.ceil(this.#sent / 2)
    const wanted: GuestState = {
      place: isVisit ? this.#cafe.id : undefined,
      country: isVisit ? 'UY' : 'AR',
      passed: !isMocked,
      segments: [isVisit ? 'guests' : 'abroad', ...(visits >= REGULAR_VISITS ? ['regulars'] : [])],
    }
    const found: GuestState = {
      place: place?._id,
      country: country?.code ?? '',
      passed: fraud?.passed ?? false,
      segments: segments.map(({ externalId }) => externalId),
    }
    const [is, must] = [JSON.stringify(found), JSON.stringify(wanted)]
    return is === must
      ? undefined
      : `G1 ${this.deviceId} is ${is} after ${this.#sent} updates, expected ${must}`
  }

  #eventsOf(sent: number): string[] {
    const { isVisit, isMocked } = turnOf(sent)
    const { id } = this.#cafe
    const [here, there] = isVisit ? ['UY', 'AR'] : ['AR', 'UY']
    return [
      ...(sent > 0 ? [`user.exited_region_country ${there}`] : []),
      `user.entered_region_country ${here}`,
      `user.${isVisit ? 'entered' : 'exited'}_place ${id}`,
      ...(isMocked ? ['user.failed_fraud fraud_mocked_from_mock_provider'] : []),
    ]
  }
}

/** What events and users have, as far as it is compared. */
interface Subject {
  readonly place?: { readonly _id: string }
  readonly region?: { readonly code: string }
  readonly failureReasons?: readonly string[]
}

interface GuestRecord {
  readonly place?: { readonly _id: string }
  readonly country?: { readonly code: string }
  readonly fraud?: { readonly passed: boolean }
  readonly segments: readonly { readonly externalId: string }[]
}

function turnOf(sent: number): { readonly isVisit: boolean; readonly isMocked: boolean } {
  return { isVisit: sent % 2 === 0, isMocked: sent % 4 === 3 }
}
