import type { Piscina } from 'piscina'
import { GEOCODER_WORKER } from '../../../workers/urls.ts'
import { ApiError } from '../../runtime/errors.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { unpackUtf8 } from '../../runtime/packedUtf8.ts'
import { ShortFirstQueue, withEstimate } from '../../runtime/shortFirstQueue.ts'
import { openThreadPool } from '../../runtime/threadPool.ts'
import { OSM_CREDIT } from '../../model/credits.ts'
import type { Position } from '../../model/geofence.ts'
import type { AreaFinder, PlaceArea } from '../../registry/geofences/areaFinder.ts'
import type { MapRegion, MapRegions } from '../extract/port.ts'
import { AIRPORT_ATTRIBUTION, WORLD_ATTRIBUTION } from '../world/port.ts'
import { estimatedMs } from './estimate.ts'
import type {
  GeocoderAnswer,
  GeocoderFiles,
  GeocoderQuestion,
  GeocoderReply,
  GeocoderTask,
} from './geocoderThread.ts'
import type {
  Address,
  AutocompleteQuestion,
  ForwardQuestion,
  FoundPlace,
  Geocoded,
  Geocoder,
  PlacesFound,
  PlacesQuestion,
  ReverseQuestion,
} from './port.ts'
import { isAround } from './sources.ts'
import type { Validation, ValidationQuestion } from './validation.ts'

/** The credit for data about chains. */
const CHAIN_ATTRIBUTION = 'name-suggestion-index'
/** What a task contains of the map regions that there are. */
interface ServedRegions {
  readonly all: readonly MapRegion[]
  readonly world: string
  /** Those with places. */
  readonly inService: readonly MapRegion[]
  /** {@link GeocoderFiles} as JSON text. */
  readonly files: string
}

/** How many questions may wait, besides those that are being answered. Each takes about a millisecond. */
const MOST_WAITING = 256

/**
 * Answers in threads, so that no question delays tracking. They start with the first question. Of the questions that wait,
 * those that take less time are answered first.
 */
export class GeocoderPool implements Geocoder, AreaFinder, Service {
  readonly name = 'geocoder'
  readonly #regions: MapRegions
  readonly #world: () => Promise<string>
  readonly #logger: Logger
  readonly #pool: Piscina<GeocoderTask, GeocoderReply>
  #served: ServedRegions | undefined

  /**
   * Starts without threads.
   * @param world returns the path of the world database, or throws an ApiError
   */
  constructor(regions: MapRegions, world: () => Promise<string>, logger: Logger) {
    this.#regions = regions
    this.#world = world
    this.#logger = logger
    this.#pool = openThreadPool({
      worker: GEOCODER_WORKER,
      thread: 'a geocoding thread',
      logger,
      mostWaiting: MOST_WAITING,
      queue: new ShortFirstQueue(),
    })
  }

  reverse(question: ReverseQuestion): Promise<Geocoded> {
    return this.#geocode({ kind: 'reverse', question })
  }

  forward(question: ForwardQuestion): Promise<Geocoded> {
    return this.#geocode({ kind: 'forward', question })
  }

  autocomplete(question: AutocompleteQuestion): Promise<Geocoded> {
    return this.#geocode({ kind: 'autocomplete', question })
  }

  places(question: PlacesQuestion): Promise<PlacesFound> {
    return this.#findPlaces({ kind: 'places', question })
  }

  airport(iataCode: string): Promise<PlacesFound> {
    return this.#findPlaces({ kind: 'airport', question: iataCode })
  }

  async validate(question: ValidationQuestion): Promise<{ validation: Validation; attribution: string }> {
    const { answer, inService } = await this.#answerOf({ kind: 'validate', question })
    return { validation: answer as Validation, attribution: creditOf(inService) }
  }

  async positionOf(address: string): Promise<Position | undefined> {
    const { addresses } = await this.forward({
      query: address,
      layers: ['address', 'place'],
      countries: [],
      language: 'en',
      // The time only matters for time zones, which are not used here.
      now: 0,
    })
    const [best] = JSON.parse(unpackUtf8(addresses)) as Address[]
    return best === undefined || best.confidence === 'fallback' ? undefined : best.geometry.coordinates
  }

  async placeArea(id: string): Promise<PlaceArea | undefined> {
    const { answer } = await this.#answerOf({ kind: 'placeArea', question: id })
    return answer as PlaceArea | undefined
  }

  async #geocode(question: GeocoderQuestion): Promise<Geocoded> {
    const { reply, inService } = await this.#ask(question)
    const { addresses, used } = reply as Extract<GeocoderReply, { addresses: string }>
    return { addresses, attribution: creditOf(used.map((index) => inService[index]!)) }
  }

  async #findPlaces(question: GeocoderQuestion): Promise<PlacesFound> {
    const { answer, inService } = await this.#answerOf(question)
    const places = answer as FoundPlace[]
    const used = inService.filter(({ bounds }) =>
      places.some(({ location }) => isAround(bounds, location.coordinates)),
    )
    const credits = [
      creditOf(used),
      ...(places.some(({ group }) => group !== undefined) ? [AIRPORT_ATTRIBUTION] : []),
      ...(places.some(({ chain }) => chain !== undefined) ? [CHAIN_ATTRIBUTION] : []),
    ]
    return { places, attribution: credits.join(', ') }
  }

  async #answerOf(question: GeocoderQuestion): Promise<{
    readonly answer: GeocoderAnswer
    readonly inService: readonly MapRegion[]
  }> {
    const { reply, inService } = await this.#ask(question)
    return { answer: (reply as Extract<GeocoderReply, { answer: GeocoderAnswer }>).answer, inService }
  }

  /** Asks a thread. Resolves to its reply, and the map regions that it had. */
  async #ask(question: GeocoderQuestion): Promise<{
    readonly reply: GeocoderReply
    readonly inService: readonly MapRegion[]
  }> {
    const world = await this.#world()
    if (this.#pool.queueSize >= MOST_WAITING)
      throw new ApiError(503, 'Too many geocoding requests at once.', { retryAfter: 1 })
    const { inService, files } = this.#serviceOf(world)
    const task = { question: JSON.stringify(question), files } satisfies GeocoderTask
    const reply = await this.#pool.run(withEstimate(task, estimatedMs(question)))
    if ('unreadable' in reply) {
      this.#logger.warn({ reason: reply.unreadable }, 'a place database cannot be read')
      throw new ApiError(503, 'A place database cannot be read; the log of the server says why.', {
        retryAfter: 10,
      })
    }
    return { reply, inService }
  }

  /** The map regions with places, which stay those of the last question unless one was added or removed. */
  #serviceOf(world: string): ServedRegions {
    const { all } = this.#regions
    if (this.#served?.all === all && this.#served.world === world) return this.#served
    const inService = all.filter(({ places }) => places !== undefined)
    const regions = inService.map(({ places, bounds }) => ({ file: places!, bounds }))
    const files = JSON.stringify({ regions, world } satisfies GeocoderFiles)
    return (this.#served = { all, world, inService, files })
  }

  /**
   * Ends the threads, and abandons the questions that they are answering. At a shutdown there are none, because the server
   * has answered all requests before.
   */
  stop(): Promise<void> {
    return this.#pool.destroy()
  }
}

/** The credit for map regions, for the borders of countries and the time zones, and for the cities of the world. */
function creditOf(regions: readonly MapRegion[]): string {
  return [...new Set([...regions.map(({ attribution }) => attribution), OSM_CREDIT, WORLD_ATTRIBUTION])].join(
    ', ',
  )
}
