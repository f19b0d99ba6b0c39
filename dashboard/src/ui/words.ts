/** How values of the API are written for people. */

/** `user.entered_geofence` → `entered geofence`; a custom event keeps its name. */
export function eventName(type: string): string {
  return type.startsWith('user.') ? type.slice(5).replaceAll('_', ' ') : type
}

/** `fraud_mocked_from_mock_provider` → `mocked from mock provider`. */
export function reasonName(reason: string): string {
  return reason.replace(/^fraud_/, '').replaceAll('_', ' ')
}

/** `exitWithheld` → `exit withheld`. */
export function outcomeName(outcome: string): string {
  return outcome.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

export type EventKind = 'in' | 'out' | 'stay' | 'bad' | 'other'

/** What an event means, for its sign; never told by colour alone. */
export function eventKind(type: string): EventKind {
  if (/failed|wrong|blocked|delayed/.test(type)) return 'bad'
  if (/entered|started|arrived/.test(type)) return 'in'
  if (/exited|stopped|canceled|expired/.test(type)) return 'out'
  if (/dwelled|approaching|nearby/.test(type)) return 'stay'
  return 'other'
}

export const EVENT_SIGNS: Readonly<Record<EventKind, string>> = {
  in: '→',
  out: '←',
  stay: '◷',
  bad: '!',
  other: '•',
}

const NUMBERS = new Intl.NumberFormat('en')

/** A count with separators, such as `12,408`. */
export function countText(value: number): string {
  return NUMBERS.format(value)
}

/** A distance as text, such as `14 m` or `2.4 km`. */
export function metersText(meters: number): string {
  const size = Math.abs(meters)
  if (size < 10) return `${meters.toFixed(1)} m`
  return size < 1000 ? `${Math.round(meters)} m` : `${(meters / 1000).toFixed(size < 10_000 ? 1 : 0)} km`
}

/** The name of a geofence or beacon for people. */
export function recordName(record: {
  readonly description?: string | undefined
  readonly tag?: string | undefined
  readonly externalId?: string | undefined
  readonly _id?: string
}): string {
  return (
    record.description || [record.tag, record.externalId].filter(Boolean).join('/') || record._id || 'unnamed'
  )
}

/** The name of a user for people. */
export function userName(user: {
  readonly userId?: string | undefined
  readonly deviceId?: string | undefined
  readonly _id?: string
}): string {
  return user.userId || user.deviceId || user._id || 'unknown'
}

/** A time span as text, such as `12 min`, `3 h` or `2 d`. */
export function spanText(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} d`
}
