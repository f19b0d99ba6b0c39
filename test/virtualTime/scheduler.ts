/** Virtual time. What is due runs in the order of its time, one after another. */
export class Scheduler {
  now = 0
  readonly #due: { readonly at: number; readonly order: number; readonly run: () => void }[] = []
  #orders = 0

  /** Runs something `ms` from now. */
  after(ms: number, run: () => void): void {
    const at = this.now + ms
    const order = this.#orders++
    let i = this.#due.length
    while (i > 0 && this.#due[i - 1]!.at > at) i--
    this.#due.splice(i, 0, { at, order, run })
  }

  /** Runs everything that is due until nothing is left or the time is over. Promises settle in between. */
  async run(untilMs: number): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve))
      const next = this.#due[0]
      if (next === undefined || next.at > untilMs) return
      this.#due.shift()
      this.now = next.at
      next.run()
    }
  }
}
