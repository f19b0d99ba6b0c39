import Type from 'typebox'
import { listPieces } from '../http/answerText.ts'
import { LongAnswers } from '../http/longAnswers.ts'
import { route, type Answer, type Route } from '../http/route.ts'
import { CoordinatesText, parseCoordinates, Text } from '../http/schemas.ts'
import { GeofenceContextSchema, PlaceSchema, RegionMembers } from '../events/fieldSchemas.ts'
import { Probe } from '../geometry/probe.ts'
import { countryBarred, countryUnknown } from '../runtime/countryErrors.ts'
import { geofenceText, regionMembers } from '../events/record.ts'
import { OSM_CREDIT } from '../model/credits.ts'
import { Unfetched } from '../rules/atlas.ts'
import { Barred } from '../rules/countries.ts'
import { contextOf, createEvaluators } from '../rules/evaluators.ts'
import type { Context, Evaluator, Spot } from '../rules/evaluator.ts'
import type { RegistryView } from '../rules/port.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import { ApiError } from '../runtime/errors.ts'
import { mapInSlices, ownTurn } from '../runtime/slices.ts'
import { readInTurns } from '../spatial/readInTurns.ts'

const Context = {
  geofences: Type.Array(GeofenceContextSchema, { description: 'The enabled geofences around the location.' }),
  ...RegionMembers,
  place: Type.Optional(PlaceSchema),
}

/** How many contexts are made at a time. */
const CONTEXTS_AT_ONCE = 32
/** With the texts of so many geofences, an answer has half a megabyte or more. */
const LONG_GEOFENCES = 1000
/** How many may wait. A context takes a twentieth of a millisecond, or 30 ms amid 10,000 geofences. */
const MOST_CONTEXTS_WAITING = 2000

/** The time after which a client may find the regions that could not be read. */
const RETRY_SECONDS = 10

/**
 * The route `GET /v1/context`: the geofences, regions and place at a location, without a user and without storing
 * anything.
 */
export function contextRoutes(registry: RegistryView): Route[] {
  const evaluators = createEvaluators()
  const limit = new ConcurrencyLimit(CONTEXTS_AT_ONCE, MOST_CONTEXTS_WAITING)
  const longAnswers = new LongAnswers()
  return [
    route({
      method: 'GET',
      path: '/v1/context',
      auth: 'publishable',
      tag: 'Context',
      summary: 'Get the context of a location',
      description:
        'Returns the geofences in which a location lies. Only their boundaries count; stop detection, buffers, hours and addresses ' +
        'do not. Geofences for certain users are listed for these users only. Also returns the country and, in the United States, the ' +
        'state, television market (DMA) and postal code of the location. These are missing while the server still prepares their data, ' +
        'after its first start. The place is the most likely one of those that pass the setting `placeFilters`. Nothing is stored. The web SDK reads the ' +
        'root of the answer, native SDKs read `context`.',
      query: Type.Object({
        coordinates: CoordinatesText,
        accuracy: Type.Optional(Text(64, 'Metres; not used.')),
        userId: Type.Optional(
          Text(256, 'With it, the geofences that are only for this user are shown, too.'),
        ),
        deviceId: Type.Optional(Text(256, 'Not used.')),
      }),
      meta: Type.Object({
        attribution: Type.Optional(
          Type.String({
            description: 'The attribution to show with the regions and the place; absent without them.',
            examples: [OSM_CREDIT],
          }),
        ),
      }),
      answers: {
        200: Type.Object({ context: Type.Object(Context), ...Context }),
        451: Type.Object({}, { description: 'The country of the location is not accepted.' }),
      },
      handler: (call) => {
        const { latitude, longitude } = parseCoordinates('coordinates', call.query.coordinates)
        const view = registry.scope(call.credentials!.scope)
        const { userId } = call.query
        const spot = { view, latitude, longitude, userId, receivedAt: call.receivedAt }
        return limit.run(() => answerOf(evaluators, spot, longAnswers))
      },
    }),
  ]
}

async function answerOf(
  evaluators: readonly Evaluator[],
  spot: Spot,
  longAnswers: LongAnswers,
): Promise<Answer> {
  await ownTurn()
  await readAround(spot)
  const here = await contextInTurns(evaluators, spot)
  if (here instanceof Barred) throw here.isCertain ? countryBarred() : countryUnknown()
  if (here.isBroken)
    throw new ApiError(503, 'The regions and places of this location cannot be read at the moment.', {
      retryAfter: RETRY_SECONDS,
    })
  const write = () => written(here, spot)
  return here.geofences.length < LONG_GEOFENCES ? write() : longAnswers.write(write)
}

async function written({ geofences, regions = [], place }: Context, { view }: Spot): Promise<Answer> {
  const { index } = view
  // Geofences that are deleted in the meantime are left out.
  const texts = await mapInSlices(geofences, (geofence) => {
    const slot = index.slotOf(geofence.id)
    return slot < 0 ? undefined : geofenceText(geofence, index.outline(slot))
  })
  const more = regionMembers(regions) + (place === undefined ? '' : `,"place":${JSON.stringify(place)}`)
  const context = listPieces('"context":{"geofences":', texts, `${more}}`)
  return {
    // Without regions and place, `meta` is the usual one.
    ...(more !== '' && { meta: { attribution: OSM_CREDIT } }),
    pieces: [...context, ...listPieces(',"geofences":', texts, more)],
  }
}

/**
 * What lies around the spot. Hundreds of requests may wait for the same part of the world to be fetched, so each takes
 * a turn after that.
 */
async function contextInTurns(evaluators: readonly Evaluator[], spot: Spot): Promise<Context | Barred> {
  for (;;) {
    const here = contextOf(evaluators, spot)
    if (!(here instanceof Unfetched)) return here
    await here.fetch()
    await ownTurn()
  }
}

/** With so many geofences, they are read in one turn and compared in the next. */
const MANY = 16

/** Reads the geofences around a spot in turns with other requests, because there may be thousands. */
async function readAround({ view: { index }, latitude, longitude }: Spot): Promise<void> {
  const probe = new Probe().set(latitude, longitude)
  const slots: number[] = []
  index.candidates(probe, 0, slots)
  if (slots.length < MANY) return
  const near = slots.filter((slot) => index.distanceAtLeast(slot, probe) <= 0)
  await readInTurns(index, near)
  await ownTurn()
}
