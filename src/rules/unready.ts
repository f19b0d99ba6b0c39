/** Something must be done in another thread before an update can be evaluated. */
export abstract class Unready {
  /** A member that distinguishes this class from all other objects. */
  protected readonly isUnready = true
}
