import { signal } from '@preact/signals'
import { Fleet } from '../../live/fleet.ts'
import { LiveConnection, type WatchFilterValues } from '../../live/connection.ts'
import { colorOf } from '../../map/colors.ts'
import { cellZoom, densityMarks } from '../../map/density.ts'
import { FenceTileLayer } from '../../map/fenceTiles.ts'
import { containsBox, type Box, type LngLat } from '../../map/geometry.ts'
import { openMap, type OpenMap, type View } from '../../map/map.ts'
import { Overlay } from '../../map/overlay.ts'
import { Points } from '../../map/points.ts'
import { call } from '../../api/call.ts'
import { isDark } from '../../theme/theme.ts'

/** The page is told about the fleet this often. */
const NEWS_MS = 250

/** With more devices in view, there are counts per cell. */
const MAX_SINGLE = 50_000
/** How often the devices in each cell are counted again. */
const RECOUNT_MS = 5000

/** What the map page shows of the fleet. */
export interface FleetNews {
  readonly count: number
  /** Whether there are counts per cell instead of devices. */
  readonly isCounted: boolean
  /** Changes when the chosen device has moved. */
  readonly round: number
}

/** What the page is told. */
interface Told {
  readonly onCredits: (text: string) => void
  readonly onView: (view: View) => void
  readonly onFence: (id: string) => void
}

/**
 * The map with its devices, geofences and connection: everything of the page that moves. The page itself reads the
 * signals, four times a second at most.
 */
export class LiveMap {
  readonly fleet: Fleet
  readonly connection: LiveConnection
  readonly news = signal<FleetNews>({ count: 0, isCounted: false, round: 0 })
  readonly chosen = signal<string | undefined>(undefined)
  readonly following = signal(false)
  readonly paused = signal(false)
  /** The map and what it shows; undefined before {@link open}, and in a browser without WebGL. */
  opened: OpenMap | undefined
  fences: FenceTileLayer | undefined
  density: Overlay | undefined
  points: Points | undefined
  readonly #told: Told
  readonly #disposers: (() => void)[] = []
  #filter: WatchFilterValues = {}
  #timer = 0
  #moveTimer = 0
  /** The last box that had few enough devices. */
  #fewIn: Box | undefined
  /** How many devices are in view, if they are counted. */
  #counted: number | undefined
  #round = 0

  /** Connects already, while it is not known yet where the map begins. */
  constructor(told: Told) {
    this.#told = told
    this.fleet = new Fleet(matchMedia('(prefers-reduced-motion: reduce)').matches)
    this.connection = new LiveConnection(this.fleet, () => this.#changed())
  }

  /**
   * Opens the map. It must be called once.
   * @param start as for {@link openMap}
   */
  open(container: HTMLElement, start: View | Box | undefined): void {
    const told = this.#told
    this.opened = openMap(container, start, told.onCredits)
    if (this.opened === undefined) {
      // Without a map, everything is watched: the list shows it.
      void this.#watch()
      return
    }
    const { map } = this.opened
    this.points = new Points(map, this.fleet)
    // Before the geofences listen: a device that is inside one is chosen, and the geofence is not opened.
    map.on('click', (event) => {
      const device = this.points!.at(event.point.x, event.point.y)
      if (device !== undefined) event.preventDefault()
      this.choose(device)
    })
    this.fences = new FenceTileLayer(this.opened, told.onFence)
    this.density = new Overlay(this.opened, 'density')
    this.#disposers.push(
      isDark.subscribe(() => this.#restyle()),
      this.chosen.subscribe((chosen) => {
        this.points!.chosen = chosen
        this.points!.changed()
      }),
      this.connection.state.subscribe(({ status }) => {
        this.points!.isStale = status === 'lost' || status === 'failed'
        this.points!.changed()
      }),
    )
    map.on('moveend', () => {
      const { lng, lat } = map.getCenter()
      told.onView({ center: [lng, lat], zoom: map.getZoom() })
      clearTimeout(this.#moveTimer)
      this.#moveTimer = window.setTimeout(() => void this.#watch(), 150)
    })
    map.on('dragstart', () => (this.following.value = false))
    void this.#watch()
  }

  choose(deviceId: string | undefined): void {
    this.chosen.value = deviceId
    if (deviceId === undefined) this.following.value = false
  }

  fly(center: LngLat, zoom = 15): void {
    const { map } = this.opened ?? {}
    map?.jumpTo({ center: [...center], zoom: Math.max(map.getZoom(), zoom) })
  }

  fit(box: Box): void {
    this.opened?.fit(box)
  }

  setFilter(filter: WatchFilterValues): void {
    this.#filter = filter
    void this.#watch()
  }

  setPaused(paused: boolean): void {
    this.paused.value = paused
    if (!paused) this.#changed()
  }

  close(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#moveTimer)
    for (const dispose of this.#disposers) dispose()
    void this.connection.close()
    this.#round = -1
    this.fences?.close()
    this.points?.close()
    this.opened?.close()
  }

  async #watch(): Promise<void> {
    if (this.#round < 0) return
    const round = ++this.#round
    const bounds = this.opened?.map.getBounds()
    const box: Box =
      bounds === undefined
        ? [-180, -90, 180, 90]
        : [bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth()]
    const isFew = this.#fewIn !== undefined && containsBox(this.#fewIn, box)
    // Filters leave few, and cells are of all devices.
    const isMany = Object.keys(this.#filter).length === 0 && !isFew && (await this.#count(box, round))
    if (round !== this.#round) return
    if (isMany) {
      clearTimeout(this.#moveTimer)
      this.#moveTimer = window.setTimeout(() => void this.#watch(), RECOUNT_MS)
      return
    }
    this.#counted = undefined
    this.density?.show([])
    this.connection.show(box, this.#filter)
  }

  /** Counts the devices in the box; if they are too many to be watched, shows the counts. */
  async #count(box: Box, round: number): Promise<boolean> {
    if (this.opened === undefined) return false
    const zoom = cellZoom(this.opened.map.getZoom())
    try {
      const { cells } = await call('get', '/v1/users/density', { query: { box: boxText(box), zoom } })
      if (round !== this.#round) return false
      const total = cells.reduce((sum, { count }) => sum + count, 0)
      if (total <= MAX_SINGLE) {
        this.#fewIn = box
        return false
      }
      this.#fewIn = undefined
      this.#counted = total
      this.connection.hide()
      this.density!.show(densityMarks(cells, zoom))
      this.#changed()
      return true
    } catch {
      // Without counts it is watched, and the server says if that is too much.
      return false
    }
  }

  #changed(): void {
    if (this.paused.peek()) return
    this.points?.changed()
    this.#timer ||= window.setTimeout(() => {
      this.#timer = 0
      this.news.value = {
        count: this.#counted ?? this.fleet.size,
        isCounted: this.#counted !== undefined,
        round: this.news.peek().round + 1,
      }
      this.#keepInSight()
    }, NEWS_MS)
  }

  /** The map goes with the device that is followed. */
  #keepInSight(): void {
    const { value: chosen } = this.chosen
    const slot = chosen === undefined || !this.following.value ? undefined : this.fleet.slotOf(chosen)
    if (slot === undefined || this.opened === undefined) return
    const [longitude, latitude] = this.fleet.positions[slot]!.location.coordinates
    const { lng, lat } = this.opened.map.getCenter()
    // A jump of the map to where it already is would draw everything again.
    if (Math.abs(lng - longitude) + Math.abs(lat - latitude) > 1e-7)
      this.opened.map.jumpTo({ center: [longitude, latitude] })
  }

  #restyle(): void {
    this.points!.restyle({
      device: colorOf('device'),
      silent: colorOf('line-2'),
      chosen: colorOf('trail'),
      ring: colorOf('card'),
    })
  }
}

/** The box as the server reads it, with longitudes of one world. */
function boxText([west, south, east, north]: Box): string {
  if (east - west >= 360) return `-180,${Math.max(-90, south)},180,${Math.min(90, north)}`
  const wrap = (x: number) => ((((x + 180) % 360) + 360) % 360) - 180
  return [wrap(west), Math.max(-90, south), wrap(east), Math.min(90, north)].join()
}
