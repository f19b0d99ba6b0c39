/** A file of the data folder that is to be copied; its name is relative to the folder, with slashes. */
export interface ImageFile {
  readonly name: string
  /** The first so many bytes are meant; absent: all. */
  readonly bytes?: number
}

/** What a data folder consists of at one moment, beside its event index, which is copied by then. */
export interface FolderImage {
  readonly storeId: string
  readonly partitions: number
  /** Of the last frame of the log. */
  readonly logPosition: number
  /** Up to where the copied event index has the events; the log has the rest. */
  readonly eventsPosition: number
  readonly registryRevision: number
  readonly files: readonly ImageFile[]
  /** Files that must hold another text than those of the folder. */
  readonly texts: readonly { readonly name: string; readonly text: string }[]
}

/** The image's files stay as they are until it is released. */
export interface HeldImage extends FolderImage {
  /** @throws when the files did not stay as they are until now: a copy of them is worth nothing */
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
  ): Promise<HeldImage>
}
