import { signal } from '@preact/signals'
import { Fleet } from '../../live/fleet.ts'
import { LiveConnection, type WatchFilterValues } from '../../live/connection.ts'
import { colorOf } from '../../map/colors.ts'
import { FenceLayer } from '../../map/fences.ts'
import type { Box, LngLat } from '../../map/geometry.ts'
import { openMap, type OpenMap, type View } from '../../map/map.ts'
import { Points } from '../../map/points.ts'
import { isDark } from '../../theme/theme.ts'

/** The page is told about the fleet this often. */
const NEWS_MS = 250

/** What the map page shows of the fleet. */
export interface FleetNews {
  readonly count: number
  /** Changes when the chosen device has moved. */
  readonly round: number
}

/**
 * The map with its devices, geofences and connection: everything of the page that moves. The page itself reads the
 * signals, four times a second at most.
 */
export class LiveMap {
  readonly fleet: Fleet
  readonly connection: LiveConnection
  readonly news = signal<FleetNews>({ count: 0, round: 0 })
  readonly chosen = signal<string | undefined>(undefined)
  readonly following = signal(false)
  readonly paused = signal(false)
  readonly opened: OpenMap | undefined
  readonly fences: FenceLayer | undefined
  readonly points: Points | undefined
  readonly #disposers: (() => void)[] = []
  #filter: WatchFilterValues = {}
  #timer = 0
  #moveTimer = 0

  constructor(
    container: HTMLElement,
    view: View | undefined,
    told: {
      readonly onCredits: (text: string) => void
      readonly onView: (view: View) => void
      readonly onFence: (id: string) => void
    },
  ) {
    this.fleet = new Fleet(matchMedia('(prefers-reduced-motion: reduce)').matches)
    this.connection = new LiveConnection(this.fleet, () => this.#changed())
    this.opened = openMap(container, view, told.onCredits)
    if (this.opened === undefined) {
      // Without a map, everything is watched: the list shows it.
      this.#watch()
      return
    }
    const { map } = this.opened
    this.points = new Points(map, this.fleet)
    this.fences = new FenceLayer(this.opened, told.onFence)
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
      this.#moveTimer = window.setTimeout(() => this.#watch(), 150)
    })
    map.on('dragstart', () => (this.following.value = false))
    map.on('click', (event) => {
      const device = this.points!.at(event.point.x, event.point.y)
      if (device !== undefined) event.preventDefault()
      this.choose(device)
    })
    this.#watch()
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
    this.#watch()
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
    this.points?.close()
    this.opened?.close()
  }

  #watch(): void {
    const bounds = this.opened?.map.getBounds()
    const box: Box =
      bounds === undefined
        ? [-180, -90, 180, 90]
        : [bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth()]
    this.connection.show(box, this.#filter)
  }

  #changed(): void {
    if (this.paused.peek()) return
    this.points?.changed()
    this.#timer ||= window.setTimeout(() => {
      this.#timer = 0
      this.news.value = { count: this.fleet.size, round: this.news.peek().round + 1 }
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
    // A jump to where it is would draw everything anew.
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
