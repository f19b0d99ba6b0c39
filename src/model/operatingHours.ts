/** Minutes of the day, 0 ≤ open < 1440, open < close ≤ open + 1440: a pair that crosses midnight closes past 1440. */
export type OpenPair = readonly [open: number, close: number]

/** Opening hours in the geofence's local time; index 0 is Sunday. A day without pairs is closed. */
export interface OperatingHours {
  readonly week: readonly (readonly OpenPair[])[]
  /** The definition as it was given, for answers. */
  readonly source: Readonly<Record<string, readonly (readonly [string, string])[]>>
}
