import Type from 'typebox'
import { RateLimiter } from '../http/rateLimit.ts'
import { LATER, route, type Answer, type Reply, type Route } from '../http/route.ts'
import { FAILURE_REASONS, verdictOf } from '../model/fraud.ts'
import type { Update } from '../model/update.ts'
import { MAX_EVENT_CHARACTERS } from '../actor/refusal.ts'
import type { Intake } from '../actor/port.ts'
import { EventSchema } from '../events/eventSchema.ts'
import { BeaconRecord } from '../registry/beacons/beaconRecord.ts'
import { GeofenceRecord } from '../registry/geofences/geofenceRecord.ts'
import { keyName } from '../http/authenticate.ts'
import { LongAnswers } from '../http/longAnswers.ts'
import type { KeyedBound } from '../runtime/keyedBound.ts'
import { waitingEventsBound } from '../actor/waitingEvents.ts'
import type { Measurer } from '../spatial/port.ts'
import { COUNTRY_BARRED_CODE } from '../runtime/countryErrors.ts'
import { badParam, type ApiError } from '../runtime/errors.ts'
import { Slice } from '../runtime/slices.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import { anonymousEvents, anonymousUser, trackAnonymously, type AnonymousResult } from './anonymous.ts'
import { anonymousStays } from './anonymousStays.ts'
import { ANONYMOUS } from '../model/device.ts'
import { checkReplay, MAX_MEETINGS, MOST_PUBLISHED_EVENTS, ReplayRoom } from './replayBound.ts'
import { ReplayExchange, TrackExchange, Unreported, type ExchangeParts } from './trackExchanges.ts'
import { answerOf, around } from './updateAnswer.ts'
import { readTripOptions } from '../trips/tripFields.ts'
import { UserSchema } from '../users/userSchema.ts'
import { nearbyGeofencesLimit, TrackBody, updateFrom, type Stamp } from '../wire/trackSchema.ts'

/** How many updates one replay may have. An SDK buffers 120. */
const MAX_REPLAYS = 1000

/** Anonymous devices share their id, so they are limited by address; many may be behind one address. */
const ANONYMOUS_PER_SECOND = 10

/** How many single anonymous updates are evaluated at a time. */
const ANONYMOUS_TRACKS_AT_ONCE = 8
const MOST_ANONYMOUS_TRACKS_WAITING = 2000
/**
 * How many anonymous replays are evaluated at a time. Each may hold {@link MAX_EVENT_CHARACTERS} until it is answered.
 */
const ANONYMOUS_AT_ONCE = 2
/** How many may wait. Further ones are refused. */
const MOST_ANONYMOUS_WAITING = 100

/** The dependencies of tracking. */
export interface TrackParts extends ExchangeParts {
  readonly intake: Intake
  /** Measures geometry in place of the main thread if an anonymous update needs much of it. */
  readonly measurer?: Measurer | undefined
  /** The memory for events of replays that are not answered yet; a bound of its own if absent. */
  readonly waitingEvents?: KeyedBound
  /** How many events one replay may cause, if they must be published within a time. */
  readonly mostReplayEvents?: number | undefined
  /** Reads the usual body. Returns undefined for all others. */
  readonly scan: (body: Buffer, stamp: Stamp) => Update | undefined
}

/** POST /v1/track and /v1/track/replay. */
export function trackRoutes(parts: TrackParts): Route[] {
  const { intake, registry } = parts
  const track = (update: Update, nearby: number, headers: Readonly<Record<string, string>>, reply: Reply) => {
    if (prefersAsync(headers['prefer'])) {
      intake.submitOne(update, sizeOf(update), new Unreported(parts.rateLimits))
      return { status: 202, headers: { 'Preference-Applied': 'respond-async' } }
    }
    intake.submitOne(update, sizeOf(update), new TrackExchange(reply, parts, nearby))
    return LATER
  }
  const waitingEvents = parts.waitingEvents ?? waitingEventsBound()
  const room = new ReplayRoom(parts.mostReplayEvents ?? Infinity)
  const anonymousLimit = parts.rateLimits ? new RateLimiter(ANONYMOUS_PER_SECOND) : undefined
  const anonymousTracks = new ConcurrencyLimit(ANONYMOUS_TRACKS_AT_ONCE, MOST_ANONYMOUS_TRACKS_WAITING)
  const longAnswers = new LongAnswers()
  const anonymousReplays = new ConcurrencyLimit(ANONYMOUS_AT_ONCE, MOST_ANONYMOUS_WAITING)
  const tracked = Type.Object({
    user: UserSchema,
    events: Type.Array(EventSchema),
    passed: Type.Optional(
      Type.Boolean({
        description: 'Whether the user passed; only for a verified track, if fraud is judged.',
      }),
    ),
    failureReasons: Type.Optional(
      Type.Array(Type.Enum([...FAILURE_REASONS]), { description: 'Why a verified track did not pass.' }),
    ),
    nearbyBeacons: Type.Array(BeaconRecord, {
      description: 'The enabled beacons within 1 km, for the SDK to range: nearest first, at most 100.',
    }),
    nearbyGeofences: Type.Optional(
      Type.Array(GeofenceRecord, { description: 'Only if the update requests them; nearest first.' }),
    ),
  })
  const refusals = {
    429: Type.Object(
      {},
      {
        description:
          'A device has sent more than one update per second, or the users of the environment take too much memory; `Retry-After` says how many seconds to wait.',
      },
    ),
    451: Type.Object(
      {},
      {
        description:
          'The country of the location is not accepted: `blockedCountries` and `allowedCountries` in the settings.',
      },
    ),
  }
  return [
    route({
      method: 'POST',
      path: '/v1/track',
      auth: 'publishable',
      role: 'write',
      tag: 'Track',
      summary: 'Track a location update',
      description:
        'Evaluates the update and returns the user and the events that it caused, after both are written to disk. ' +
        'With the deviceId `anonymous` nothing is stored: the update is evaluated ' +
        `against \`geofenceIds\`, \`beaconIds\`, \`placeId\` and \`regionIds\`; ${ANONYMOUS_PER_SECOND} updates per second and address. ` +
        'With the header `Prefer: respond-async` the response is 202 as soon as the update is accepted: before it is written to disk ' +
        'and without a result.',
      headers: ['prefer'],
      body: TrackBody,
      answers: {
        200: tracked,
        ...refusals,
        202: Type.Object({}, { description: 'Accepted, because of `Prefer: respond-async`.' }),
      },
      // A scanned update is not anonymous, and requests no nearby geofences.
      handleBytes(bytes, call, reply) {
        const update = parts.scan(bytes, stampOf(call))
        return update && track(update, 0, call.headers, reply)
      },
      handler(call, reply) {
        const update = withTripOptions(updateFrom(call.body, stampOf(call)), call.body, '')
        if (update.deviceId === ANONYMOUS) {
          anonymousLimit?.take(call.ip, call.receivedAt)
          const one = [{ body: call.body, update }]
          return anonymousTracks.run(() => answerAnonymously(parts, one, false, longAnswers))
        }
        return track(update, nearbyGeofencesLimit(call.body), call.headers, reply)
      },
    }),
    route({
      method: 'POST',
      path: '/v1/track/replay',
      auth: 'publishable',
      role: 'write',
      tag: 'Track',
      summary: 'Track updates that were recorded earlier',
      description:
        'Applies all of the updates or none, in the order of their times (`updatedAtMs` or `updatedAt`). Returns every event ' +
        'that they caused, and the user of the latest update. A request whose updates meet geofences more than ' +
        `${MAX_MEETINGS} times in all is refused; the message says how many updates to send at a time. In the distributed ` +
        `engine, one that may cause more than ${MOST_PUBLISHED_EVENTS} events is refused, too.`,
      body: Type.Object({ replays: Type.Array(TrackBody, { minItems: 1, maxItems: MAX_REPLAYS }) }),
      meta: Type.Object({
        refusedUpdates: Type.Optional(
          Type.Integer({
            description: 'Number of updates that were refused because of the country in which they lie.',
          }),
        ),
        omittedEvents: Type.Optional(
          Type.Integer({
            description:
              'Number of events that are left out because there are too many; GET /v1/events has them, except those of `anonymous`.',
          }),
        ),
      }),
      answers: {
        200: Type.Object({
          ...tracked.properties,
          // There is no user if every update was refused.
          user: Type.Optional(UserSchema),
          nearbyBeacons: Type.Optional(tracked.properties.nearbyBeacons),
        }),
        ...refusals,
      },
      handler(call, reply) {
        const stamp = stampOf(call)
        const replays = call.body.replays.map((body, i) => ({
          body,
          update: withTripOptions(
            updateFrom({ ...body, replayed: body.replayed ?? true }, stamp, `replays.${i}.`),
            body,
            `replays.${i}.`,
          ),
        }))
        const stranger = replays.findIndex(({ body }) => body.deviceId !== ANONYMOUS)
        if (stranger >= 0 && replays.some(({ body }) => body.deviceId === ANONYMOUS))
          throw badParam(`replays.${stranger}.deviceId`, `Must be ${ANONYMOUS} in all replays or in none.`)
        replays.sort((a, b) => timeOf(a.update) - timeOf(b.update))
        const sorted = replays.map(({ update }) => update)
        const mostEvents = stranger < 0 ? Infinity : room.mostEvents
        const mayCause = checkReplay(sorted, registry.scope(stamp.scope), mostEvents)
        if (stranger < 0) {
          anonymousLimit?.take(call.ip, call.receivedAt)
          return anonymousReplays.run(() => answerAnonymously(parts, replays, true, longAnswers))
        }
        orderNumbered(replays)
        const updates = replays.map(({ update }) => update)
        let bytes = 0
        for (const update of updates) bytes += sizeOf(update)
        const nearby = nearbyGeofencesLimit(replays.at(-1)!.body)
        const key = keyName(call.credentials!)
        const leave = room.enter(key, mayCause)
        const kept = waitingEvents.share(key)
        try {
          intake.submit(updates, bytes, new ReplayExchange(reply, parts, updates, nearby, kept, leave))
        } catch (error) {
          leave()
          throw error
        }
        return LATER
      },
    }),
  ]
}

/** Reads preferences separated by commas, as RFC 7240 defines them. */
function prefersAsync(prefer: string | undefined): boolean {
  return prefer?.split(',').some((one) => one.trim().toLowerCase() === 'respond-async') ?? false
}

/**
 * Evaluates anonymous updates in order, the first against the stays that it names, and answers with the user of the
 * last. Once the events are too many for an answer, the rest are only counted, because their texts would be dropped.
 */
async function answerAnonymously(
  parts: TrackParts,
  replays: readonly { readonly body: TrackBody; readonly update: Update }[],
  isReplay: boolean,
  longAnswers: LongAnswers,
): Promise<Answer> {
  let sent: (() => void) | undefined
  const becomesLong = async (): Promise<void> => {
    sent ??= await longAnswers.enter()
  }
  try {
    const answer = await anonymousAnswer(parts, replays, isReplay, becomesLong)
    return sent === undefined ? answer : { ...answer, sent }
  } catch (error) {
    sent?.()
    throw error
  }
}

async function anonymousAnswer(
  { registry, measurer }: TrackParts,
  replays: readonly { readonly body: TrackBody; readonly update: Update }[],
  isReplay: boolean,
  becomesLong: () => Promise<void>,
): Promise<Answer> {
  const events: string[] = []
  let characters = 0
  let omitted = 0
  let barred = 0
  const [{ body: first, update: earliest }] = replays as [(typeof replays)[number]]
  let stays = await anonymousStays(first, registry.scope(earliest.scope))
  let latest:
    | { readonly result: AnonymousResult; readonly body: TrackBody; readonly update: Update }
    | undefined
  const slice = new Slice()
  for (const { body, update } of replays) {
    if (slice.isOver) await slice.next()
    try {
      const result = await trackAnonymously(
        stays,
        update,
        registry.scope(update.scope),
        measurer,
        becomesLong,
      )
      stays = result
      latest = { result, body, update }
      const texts = characters > MAX_EVENT_CHARACTERS ? [] : await anonymousEvents(result, update)
      for (const text of texts) characters += text.length
      if (characters > MAX_EVENT_CHARACTERS) omitted += result.transitions.length
      else for (const text of texts) events.push(text)
    } catch (error) {
      if (!isReplay || (error as ApiError).code !== COUNTRY_BARRED_CODE) throw error
      barred++
    }
  }
  if (latest === undefined) return { meta: { refusedUpdates: barred }, body: { events: [] } }
  const { result, body, update } = latest
  const view = registry.scope(update.scope)
  const user = await anonymousUser(result, update, view)
  const verdict = verdictOf(result.fraud, update.claims, view.settings.fraud)
  const surroundings = await around(registry, update, nearbyGeofencesLimit(body), verdict)
  return answerOf(events, [user], surroundings, omitted, barred)
}

/**
 * The update with the trip that its body names.
 * @param at the prefix of parameter names in messages
 */
function withTripOptions(update: Update, { tripOptions: given }: TrackBody, at: string): Update {
  if (given === undefined) return update
  const tripOptions = readTripOptions(given, `${at}tripOptions`)
  return tripOptions === undefined ? update : { ...update, tripOptions }
}

/** In epoch milliseconds. */
function timeOf(update: Update): number {
  return update.updatedAt ?? update.receivedAt
}

/**
 * Sorts the updates of each stream by number, at the positions that they have together by time. Mostly that is the
 * order by time. If a clock was set back it is not, and a number below the last one is a resend, which is not
 * applied: by time alone, the latest update would be lost. So they are applied as if they had come one by one.
 */
function orderNumbered<T extends { readonly update: Update }>(replays: T[]): void {
  const streams = new Map<string, number[]>()
  for (let index = 0; index < replays.length; index++) {
    const { deviceId, stream } = replays[index]!.update
    if (stream === undefined) continue
    const key = JSON.stringify([deviceId, stream])
    const indexes = streams.get(key)
    if (indexes === undefined) streams.set(key, [index])
    else indexes.push(index)
  }
  for (const indexes of streams.values()) {
    const numbered = indexes.map((index) => replays[index]!)
    numbered.sort((a, b) => a.update.sequence! - b.update.sequence!)
    for (let i = 0; i < indexes.length; i++) replays[indexes[i]!] = numbered[i]!
  }
}

function stampOf(call: {
  readonly credentials: { readonly scope: number } | undefined
  readonly ip: string
  readonly receivedAt: number
  readonly fromSdk: boolean
}): Stamp {
  return { scope: call.credentials!.scope, ip: call.ip, receivedAt: call.receivedAt, fromSdk: call.fromSdk }
}

/** The approximate size of a beacon's identifiers in bytes. */
const BEACON_BYTES = 100

/**
 * The approximate size of the values that a sender chooses in an update, in bytes. The host adds the fixed part of
 * every update.
 */
function sizeOf(update: Update): number {
  let bytes = update.deviceId.length + (update.description?.length ?? 0)
  bytes += BEACON_BYTES * (update.beacons?.length ?? 0)
  const { metadata } = update
  if (metadata !== undefined) for (const key in metadata) bytes += key.length + String(metadata[key]).length
  return bytes
}
