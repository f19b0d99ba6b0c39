import { Unready } from './unready.ts'

/**
 * An update amid so many geofences that evaluating it takes milliseconds. Nothing is missing; it only lets others go
 * first.
 *
 * Without this, the cost shows only once the update has been evaluated: a hundred devices that come into a crowd of
 * geofences at once would be evaluated one after the other, before the updates of others that came after them.
 */
export class Crowded extends Unready {
  /** A member that distinguishes this class from other reasons. */
  protected readonly isCrowded = true
}

/** With this many geofences around it, an update is evaluated behind those of others. Fewer take half a millisecond. */
export const CROWD = 1000
