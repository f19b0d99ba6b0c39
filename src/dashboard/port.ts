/** A file of the dashboard, with the encodings that were made of it when it was built. */
export interface DashboardFile {
  /** The file's bytes by encoding: `br`, `gzip` or `identity`. */
  readonly encodings: ReadonlyMap<string, Uint8Array>
}

/** Whether there is a dashboard to serve. */
export type DashboardState = 'ready' | 'building' | 'failed' | 'absent'

/** The built dashboard, as the routes see it. */
export interface Dashboard {
  readonly state: DashboardState
  /** A file of the build: `index.html`, or a file of its folder `assets` by name. Undefined if there is none. */
  page(): DashboardFile | undefined
  asset(name: string): DashboardFile | undefined
}
