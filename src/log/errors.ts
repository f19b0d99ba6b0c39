/**
 * A file of the log is not what was written: flipped bits, a gap, a missing, foreign or newer segment. Nothing was
 * changed on disk. The log never opens past it, because what follows may have been acknowledged.
 */
export class LogDamaged extends Error {
  /** Path of the file that is damaged or missing. */
  readonly file: string

  constructor(file: string, reason: string) {
    super(`${file}: ${reason}`)
    this.name = 'LogDamaged'
    this.file = file
  }
}

/** Frames were asked for that a trim has removed. */
export class LogTrimmed extends Error {
  constructor(position: number, oldest: number) {
    super(`Frame ${position} has been trimmed: the oldest kept frame is ${oldest}.`)
    this.name = 'LogTrimmed'
  }
}
