import type { Profile } from '../model/device.ts'
import type { ScopeView } from '../rules/port.ts'
import type { HeadRest } from './port.ts'

/**
 * The second parts of the heads of the users of one partition (`headRest` of userRecord.ts): regions, places, chains, fraud and
 * segments.
 *
 * The obvious way writes all of a head when the profile has changed. But nearly every change is that of a geofence, which is in the
 * first part, and with everything turned on the second part is longer and takes longer to write. So it stays until something of it
 * changes. Most users have one of a few texts, so those with the same text share it.
 *
 * Owns: when a part is written again, which users share one. Does not own: what it says (userRecord.ts).
 *
 * Invariants
 * - RESTS-1: A part is the one that would be written now.
 */
export class HeadRests {
  readonly #kept: (KeptRest | undefined)[] = []

  /**
   * The second part of a user's head.
   * @param write writes its text
   */
  of(
    row: number,
    profile: Profile,
    view: ScopeView,
    write: (profile: Profile, view: ScopeView) => string,
  ): HeadRest {
    const known = row < this.#kept.length ? this.#kept[row] : undefined
    if (known !== undefined && isSame(known, profile, view)) return known.rest
    const rest = share(write(profile, view))
    // The names of beacons are not compared, and few users are in range of any.
    const isKept = profile.beacons.length === 0 && rest.bytes.length <= MOST_BYTES
    if (!isKept) {
      this.forget(row)
      return rest
    }
    // Gaps would make V8 keep the array as a dictionary.
    while (this.#kept.length < row) this.#kept.push(undefined)
    const { regions, fraud, segments } = profile
    const { stay, nearby, visited } = profile.places
    this.#kept[row] = { revision: view.revision, regions, stay, nearby, visited, fraud, segments, rest }
    return rest
  }

  forget(row: number): void {
    if (row < this.#kept.length) this.#kept[row] = undefined
  }
}

/** How many parts are known at most, and how long they are at most: 16 MB. */
const MOST_SHARED = 4000
const MOST_BYTES = 4096

/** The parts by their texts. The users of all partitions share them, so that answers copy them out of the processor's cache. */
const shared = new Map<string, HeadRest>()

function share(text: string): HeadRest {
  if (text.length > MOST_BYTES) return restOf(text)
  let rest = shared.get(text)
  if (rest === undefined) {
    if (shared.size === MOST_SHARED) shared.clear()
    rest = restOf(text)
    shared.set(text, rest)
  }
  return rest
}

/** A part, and everything that it was written from. The objects never change. */
interface KeptRest extends Pick<Profile, 'regions' | 'fraud' | 'segments'> {
  /** The registry revision, which settings and what is known about regions belong to. */
  readonly revision: number
  readonly stay: Profile['places']['stay']
  readonly nearby: Profile['places']['nearby']
  readonly visited: Profile['places']['visited']
  readonly rest: HeadRest
}

function isSame(known: KeptRest, profile: Profile, view: ScopeView): boolean {
  const { places } = profile
  return (
    known.revision === view.revision &&
    known.regions === profile.regions &&
    known.stay === places.stay &&
    known.nearby === places.nearby &&
    known.visited === places.visited &&
    known.fraud === profile.fraud &&
    known.segments === profile.segments &&
    profile.beacons.length === 0
  )
}

/** A part with this text. */
export function restOf(text: string): HeadRest {
  const isAscii = Buffer.byteLength(text) === text.length
  return { bytes: isAscii ? text : Buffer.from(text).toString('latin1'), isAscii }
}
