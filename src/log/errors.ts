/**
 * A file of the log is not what was written: flipped bits, a gap, a missing, foreign or newer segment. Nothing was
 * changed on disk. The log never opens past it, because what follows may have been acknowledged.
 */
export class LogDamaged extends Error {
  /** The path of the file that is damaged or missing. */
  readonly file: string

  constructor(file: string, reason: string) {
    super(`${file}: ${reason}`)
    this.name = 'LogDamaged'
    this.file = file
  }
}

/** The requested frames were removed by a trim. */
export class LogTrimmed extends Error {
  constructor(offset: number, oldest: number) {
    super(`Frame ${offset} has been trimmed: the oldest kept frame is ${oldest}.`)
    this.name = 'LogTrimmed'
  }
}

/**
 * Another process owns the partition: everything that this one has evaluated since its last durable frame is void. It
 * must drop the partition's states. It can own the partition again only after opening its log again.
 */
export class FencedOut extends Error {
  constructor(partition: number, owner: string) {
    super(`Partition ${partition} has another owner: ${owner}.`)
    this.name = 'FencedOut'
  }
}

/**
 * A stream accepts nothing because its servers are choosing a leader. This attempt is not stored, whatever became of
 * others.
 */
export class LeaderMissing extends Error {
  constructor(stream: string, cause: unknown) {
    super(`The stream ${stream} has no leader at the moment.`, { cause })
    this.name = 'LeaderMissing'
  }
}

/** The stream of a partition could not be taken over. It may be out of reach, or several hosts want it at once. */
export class LogUnavailable extends Error {
  constructor(partition: number, cause: unknown) {
    super(`The log of partition ${partition} cannot be opened: ${(cause as Error).message}`, { cause })
    this.name = 'LogUnavailable'
  }
}
