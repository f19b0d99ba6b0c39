/** Something must be done in another thread, or in turns, before an update can be applied. */
export abstract class Unready {
  /** A member that distinguishes this class from all other objects. */
  protected readonly isUnready = true
}
