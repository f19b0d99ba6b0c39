/** Something must be done in another thread before an update can be evaluated. */
export abstract class Unready {
  /** So that no other object is taken for one. */
  protected readonly isUnready = true
}
