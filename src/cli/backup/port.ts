/** A file of the data folder that is to be copied; its name is relative to the folder, with slashes. */
export interface BackupFile {
  readonly name: string
  /** How many of its first bytes are copied; absent: all. */
  readonly bytes?: number
}

/** The contents of a data folder at one moment, besides its event index, which is copied by then. */
export interface BackupContents {
  readonly storeId: string
  readonly partitions: number
  /** The offset of the last frame of the log. */
  readonly logPosition: number
  /** The copied event index has the events up to here; the log has the rest. */
  readonly eventsPosition: number
  readonly registryRevision: number
  readonly files: readonly BackupFile[]
  /** Files whose text must differ from that in the folder. */
  readonly texts: readonly { readonly name: string; readonly text: string }[]
}

/** The contents's files stay as they are until it is released. */
export interface HeldContents extends BackupContents {
  /** @throws if the files did not stay unchanged until now: then a copy of them is worthless */
  release(): Promise<void>
}

/** A store that can be copied: one that this process has open, or that of a running server. */
export interface BackupSource {
  /**
   * Copies the event index into `folder`, then holds the other files still.
   * @param folder absolute path of an existing folder
   * @param progress told every few megabytes how far the event index is, in bytes
   * @param signal gives up
   */
  hold(
    folder: string,
    progress: (copied: number, total: number) => void,
    signal: AbortSignal,
  ): Promise<HeldContents>
}
