/** A file of the data folder that is to be copied; its name is relative to the folder, with slashes. */
export interface BackupFile {
  readonly name: string
  /** How many of its first bytes are copied. If absent, all are. */
  readonly bytes?: number
}

/**
 * The contents of a data folder at one moment. The event index is not among them, because it has been copied by then.
 */
export interface BackupContents {
  readonly storeId: string
  readonly partitions: number
  /** The offset of the last frame of the log. */
  readonly logPosition: number
  /** The log offset up to which the copied event index is complete. The log has the rest. */
  readonly eventsPosition: number
  readonly registryRevision: number
  readonly files: readonly BackupFile[]
  /** Files whose text must differ from that in the folder. */
  readonly texts: readonly { readonly name: string; readonly text: string }[]
}

/** Contents whose files stay unchanged until they are released. */
export interface HeldContents extends BackupContents {
  /**
   * Lets the files change again.
   * @throws if they did not stay unchanged until now; a copy of them is then worthless
   */
  release(): Promise<void>
}

/** A store that can be copied: one that this process has open, or the store of a running server. */
export interface BackupSource {
  /**
   * Copies the event index into `folder`, and then keeps the other files unchanged.
   * @param folder the absolute path of an existing folder
   * @param progress called every few megabytes with the progress of the event index, in bytes
   * @param signal aborted to give up
   */
  hold(
    folder: string,
    progress: (copied: number, total: number) => void,
    signal: AbortSignal,
  ): Promise<HeldContents>
}
