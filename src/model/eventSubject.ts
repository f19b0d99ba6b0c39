import { isLive, projectOf, scopeId, type ScopeId } from './scope.ts'

/** The parts of an event's subject. */
export interface Addressed {
  readonly scope: ScopeId
  readonly type: string
  /** The device. It is empty if no device is known, as for a trip that nobody has moved yet. */
  readonly deviceId: string
}

/** The token that stands for no device. No token may be empty, and no device has this one. */
const NO_DEVICE = '%'

/** The subjects of all events. */
export const EVERY_SUBJECT = 'events.>'

/**
 * The NATS subject of an event: `events.<project>.<test|live>.<type>.<deviceId>`, always five tokens, so that a
 * subscriber leaves any of them open with `*`.
 *
 * | event | subject |
 * |---|---|
 * | `user.entered_geofence` of van-7, test | `events.1.test.user:entered_geofence.van-7` |
 * | conversion `sign up: plus` of a.b, live | `events.1.live.sign%20up%3A%20plus.a%2Eb` |
 * | `user.stopped_trip` without a device, test | `events.1.test.user:stopped_trip.%` |
 *
 * A dot would separate tokens, so in a type it is written as a colon. All other characters that a token cannot
 * contain are written as in a URL, so that {@link addressOf} can read them. Each takes at most three bytes. With the
 * API's limits of 256 characters, the subject is far below the 4,096 bytes of a NATS protocol line.
 */
export function subjectOf(event: Addressed): string {
  return joined(event, typeToken(event.type), deviceToken(event.deviceId))
}

/** Writes subjects like {@link subjectOf}, and remembers the tokens that it wrote last. */
export class SubjectWriter {
  /** Apps choose the types of conversions, so there may be any number. */
  readonly #types = new Tokens(256, typeToken)
  readonly #devices = new Tokens(1024, deviceToken)

  subjectOf(event: Addressed): string {
    return joined(event, this.#types.of(event.type), this.#devices.of(event.deviceId))
  }
}

/** The tokens of texts, as many as are kept. One update may cause thousands of events of one type and device. */
class Tokens {
  readonly #make: (text: string) => string
  readonly #most: number
  readonly #tokens = new Map<string, string>()

  constructor(most: number, make: (text: string) => string) {
    this.#most = most
    this.#make = make
  }

  of(text: string): string {
    const known = this.#tokens.get(text)
    if (known !== undefined) return known
    if (this.#tokens.size >= this.#most) this.#tokens.clear()
    const token = this.#make(text)
    this.#tokens.set(text, token)
    return token
  }
}

function joined({ scope }: Addressed, type: string, device: string): string {
  return `events.${projectOf(scope)}.${isLive(scope) ? 'live' : 'test'}.${type}.${device}`
}

function typeToken(type: string): string {
  return type
    .split('.')
    .map((part) => escape(part).replaceAll(':', '%3A'))
    .join(':')
}

function deviceToken(deviceId: string): string {
  return deviceId === '' ? NO_DEVICE : escape(deviceId)
}

/** The parts of a subject; undefined if it is not the subject of an event. */
export function addressOf(subject: string): Addressed | undefined {
  const match = /^events\.(\d{1,15})\.(test|live)\.([^.]+)\.([^.]+)$/.exec(subject)
  if (match === null) return undefined
  const [, project, environment, type, deviceId] = match as unknown as [
    string,
    string,
    string,
    string,
    string,
  ]
  try {
    return {
      scope: scopeId(Number(project), environment === 'live'),
      type: decodeURIComponent(type.replaceAll(':', '.')),
      deviceId: deviceId === NO_DEVICE ? '' : decodeURIComponent(deviceId),
    }
  } catch {
    // It contains a percent sign that this program did not write.
    return undefined
  }
}

/** Escapes characters that end a token or a line of the protocol, the wildcards, and the escape sign itself. */
function escape(text: string): string {
  return text.replaceAll(
    /[^!-~\u0080-\uffff]|[.*>%]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
