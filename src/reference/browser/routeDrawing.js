/* A drawing of routes, to scale, north up, which can be moved and zoomed by pointer, wheel, fingers and keys. */

const SVG = 'http://www.w3.org/2000/svg'

/** The mean radius of the Earth in metres. */
const RADIUS = 6_371_008.8
const RADIANS = Math.PI / 180
/** The pixels of the world's side on a map of zoom 0. */
const WORLD_PIXELS = 512

/** Free room around the content, in pixels. */
const MARGIN = 36
/** The largest scale in pixels per metre. */
const LARGEST_SCALE = 5
const SMALLEST_SCALE = 1e-5
const PAN_PIXELS = 60
const ZOOM_STEP = 1.5
/** If a pointer moved by fewer pixels than this, it has clicked. */
const CLICK_PIXELS = 4
const SCALE_BAR_PIXELS = 110

/** The units of a scale bar with their lengths in metres, the larger first. */
const SCALE_UNITS = {
  metric: [
    ['km', 1000],
    ['m', 1],
  ],
  imperial: [
    ['mi', 1609.344],
    ['ft', 0.3048],
  ],
}

/**
 * Internally, a position is in metres east and south of the first route's middle, in the Mercator projection of maps,
 * whose scale is right at that middle; the view is the position in the centre and the pixels per metre.
 */
export class RouteDrawing {
  #box
  #on
  #svg = make('svg', { 'aria-hidden': 'true' })
  #ways = make('g', { class: 'ways' })
  #piece = make('path', { class: 'piece' })
  #marks = make('g', { class: 'marks' })
  #scaleBar = make('path', { class: 'bar' })
  #scaleText = make('text', { x: 12 })
  #north = make('g', { class: 'north' })
  #units = 'metric'
  /** The routes as `{path, points, steps}`. The points of a step, and of the whole way, are in metres. */
  #routes = []
  #chosen = 0
  /** The elements that keep their size when the view changes, as `{element, at}`. */
  #pins = []
  #view = { x: 0, y: 0, scale: 1 }
  /** Where the internal positions begin: longitude and latitude. */
  #origin = [0, 0]
  /** The last position of each pressed pointer, by its id. */
  #pointers = new Map()
  #pressed

  /**
   * @param box the element to draw in; it can have the focus
   * @param on `onStep(index)`: the pointer is over a turn, undefined when it no longer is; `onRoute(index)`: a way
   * was clicked; `onView({center, zoom})`: what a map behind the drawing must show
   */
  constructor(box, on) {
    this.#box = box
    this.#on = on
    this.#north.append(make('path', { d: 'M0 -14L5 0L0 -3L-5 0Z' }), make('text', { y: 14 }, 'N'))
    this.#svg.append(this.#ways, this.#marks, this.#scaleBar, this.#scaleText, this.#north)
    box.append(this.#svg)
    new ResizeObserver(() => this.#update()).observe(box)
    box.addEventListener('keydown', (event) => this.#onKey(event))
    box.addEventListener('wheel', (event) => this.#onWheel(event), { passive: false })
    box.addEventListener('pointerdown', (event) => this.#onDown(event))
    box.addEventListener('pointermove', (event) => this.#onMove(event))
    for (const name of ['pointerup', 'pointercancel'])
      box.addEventListener(name, ({ pointerId }) => this.#pointers.delete(pointerId))
    box.addEventListener('click', (event) => this.#onClick(event))
  }

  /**
   * Draws ways and shows all of them.
   * @param routes those of the API's answer, with geometry as GeoJSON
   * @param units `metric` or `imperial`
   */
  show(routes, units) {
    const first = routes[0].geometry.coordinates
    this.#origin = first[Math.floor(first.length / 2)]
    const project = projection(this.#origin)
    this.#units = units
    this.#routes = routes.map(({ geometry, legs }) => {
      const points = geometry.coordinates.map(project)
      const steps = legs.flatMap((leg) => leg.steps)
      return {
        points,
        path: make('path', { d: pathOf(points) }),
        steps: steps.map((step) => ({
          points: step.geometry.coordinates.map(project),
          text: step.instructions,
        })),
      }
    })
    this.choose(0)
    this.#showAll()
  }

  /** Draws the steps of a way. The other ways are drawn behind it. */
  choose(index) {
    this.#chosen = index
    const { points, path, steps } = this.#routes[index]
    for (const route of this.#routes)
      route.path.setAttribute('class', route === this.#routes[index] ? 'chosen' : 'other')
    const others = this.#routes.filter((route) => route.path !== path)
    this.#ways.replaceChildren(...others.map((route) => route.path), path, this.#piece)
    const turns = steps.slice(1, -1).map((step, i) => {
      const turn = make('circle', { class: 'turn', r: 5 })
      turn.append(make('title', {}, step.text))
      turn.addEventListener('pointerenter', () => this.#on.onStep(i + 1))
      turn.addEventListener('pointerleave', () => this.#on.onStep(undefined))
      return { element: turn, at: step.points[0] }
    })
    this.#pins = [
      ...turns,
      { element: endMark('A', 'start'), at: points[0] },
      { element: endMark('B', 'end'), at: points.at(-1) },
    ]
    this.#marks.replaceChildren(...this.#pins.map((pin) => pin.element))
    this.mark(undefined)
    this.#update()
  }

  /** Marks the piece of a step of the chosen way. Undefined marks none. */
  mark(index) {
    const points = index === undefined ? [] : this.#routes[this.#chosen].steps[index].points
    this.#piece.setAttribute('d', pathOf(points))
    for (const [i, turn] of [...this.#marks.querySelectorAll('.turn')].entries())
      turn.classList.toggle('marked', i + 1 === index)
  }

  /** Shows the piece of a step as large as possible. */
  showStep(index) {
    this.#fit(this.#routes[this.#chosen].steps[index].points, 1)
  }

  /**
   * Changes the zoom.
   * @param how `in`, `out` or `all`
   */
  zoom(how) {
    if (how === 'all') this.#showAll()
    else
      this.#zoomAt(
        this.#svg.clientWidth / 2,
        this.#svg.clientHeight / 2,
        how === 'in' ? ZOOM_STEP : 1 / ZOOM_STEP,
      )
  }

  #showAll() {
    this.#fit(
      this.#routes.flatMap(({ points }) => points),
      LARGEST_SCALE,
    )
  }

  #fit(points, largestScale) {
    let [west, north, east, south] = [Infinity, Infinity, -Infinity, -Infinity]
    for (const [x, y] of points) {
      west = Math.min(west, x)
      east = Math.max(east, x)
      north = Math.min(north, y)
      south = Math.max(south, y)
    }
    const { clientWidth, clientHeight } = this.#svg
    // It is infinite for a way with one position.
    const scale = Math.min(
      (clientWidth - 2 * MARGIN) / (east - west),
      (clientHeight - 2 * MARGIN) / (south - north),
      largestScale,
    )
    this.#view = { x: (west + east) / 2, y: (north + south) / 2, scale: Math.max(scale, SMALLEST_SCALE) }
    this.#update()
  }

  /** Zooms so that the content at this position of the drawing, in pixels, stays there. */
  #zoomAt(left, top, factor) {
    const { x, y, scale } = this.#view
    const next = Math.min(Math.max(scale * factor, SMALLEST_SCALE), LARGEST_SCALE)
    const shift = 1 / scale - 1 / next
    const { clientWidth, clientHeight } = this.#svg
    this.#view = {
      x: x + (left - clientWidth / 2) * shift,
      y: y + (top - clientHeight / 2) * shift,
      scale: next,
    }
    this.#update()
  }

  #pan(right, down) {
    const { x, y, scale } = this.#view
    this.#view = { x: x - right / scale, y: y - down / scale, scale }
    this.#update()
  }

  #update() {
    const { clientWidth: width, clientHeight: height } = this.#svg
    const { x, y, scale } = this.#view
    const left = width / 2 - x * scale
    const top = height / 2 - y * scale
    this.#ways.setAttribute('transform', `translate(${left} ${top}) scale(${scale})`)
    for (const { element, at } of this.#pins)
      element.setAttribute('transform', `translate(${left + at[0] * scale} ${top + at[1] * scale})`)
    const { text, meters } = scaleBar(SCALE_BAR_PIXELS / scale, this.#units)
    this.#scaleBar.setAttribute('d', `M12 ${height - 18}v6h${meters * scale}v-6`)
    this.#scaleText.setAttribute('y', height - 22)
    this.#scaleText.textContent = text
    this.#north.setAttribute('transform', `translate(20 26)`)
    this.#on.onView?.(this.#mapView())
  }

  /** The view in the form that maps use. */
  #mapView() {
    const [longitude, latitude] = this.#origin
    const { x, y, scale } = this.#view
    const meters = RADIUS * Math.cos(latitude * RADIANS)
    const center = [
      longitude + x / meters / RADIANS,
      Math.atan(Math.sinh(mercator(latitude) - y / meters)) / RADIANS,
    ]
    return { center, zoom: Math.log2((scale * meters * 2 * Math.PI) / WORLD_PIXELS) }
  }

  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const act = {
      ArrowLeft: () => this.#pan(PAN_PIXELS, 0),
      ArrowRight: () => this.#pan(-PAN_PIXELS, 0),
      ArrowUp: () => this.#pan(0, PAN_PIXELS),
      ArrowDown: () => this.#pan(0, -PAN_PIXELS),
      '+': () => this.zoom('in'),
      '=': () => this.zoom('in'),
      '-': () => this.zoom('out'),
      0: () => this.zoom('all'),
    }[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }

  /**
   * A page that is scrolled across the drawing continues to scroll; the wheel zooms only after a click into the
   * drawing, or with a pinch.
   */
  #onWheel(event) {
    if (!event.ctrlKey && document.activeElement !== this.#box) return
    event.preventDefault()
    const { left, top } = this.#svg.getBoundingClientRect()
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY : event.deltaY * 30
    const speed = event.ctrlKey ? 0.01 : 0.002
    this.#zoomAt(event.clientX - left, event.clientY - top, Math.exp(-pixels * speed))
  }

  #onDown({ pointerId, clientX, clientY }) {
    if (this.#pointers.size === 0) this.#pressed = { clientX, clientY }
    this.#pointers.set(pointerId, { clientX, clientY })
  }

  #onMove({ pointerId, clientX, clientY, buttons }) {
    // The button was released outside, before the pointer was captured.
    if (buttons === 0) this.#pointers.delete(pointerId)
    const before = this.#pointers.get(pointerId)
    if (before === undefined) return
    const other = [...this.#pointers].find(([id]) => id !== pointerId)?.[1]
    if (other === undefined && !this.#box.hasPointerCapture(pointerId)) {
      if (distance(this.#pressed, { clientX, clientY }) < CLICK_PIXELS) return
      // It is captured only once it has moved, because a click of a captured pointer would not have its target.
      this.#box.setPointerCapture(pointerId)
    }
    const now = { clientX, clientY }
    this.#pointers.set(pointerId, now)
    if (other === undefined) {
      this.#pan(clientX - before.clientX, clientY - before.clientY)
      return
    }
    // With two fingers, the position between them stays between them.
    this.#pan((clientX - before.clientX) / 2, (clientY - before.clientY) / 2)
    const { left, top } = this.#svg.getBoundingClientRect()
    const factor = distance(now, other) / Math.max(distance(before, other), 1)
    this.#zoomAt((clientX + other.clientX) / 2 - left, (clientY + other.clientY) / 2 - top, factor)
  }

  #onClick({ target }) {
    const index = this.#routes.findIndex(({ path }) => path === target)
    if (index >= 0 && index !== this.#chosen) this.#on.onRoute(index)
  }
}

/** From `[longitude, latitude]` to metres east and south of a place; across the 180th meridian, too. */
function projection([longitude, latitude]) {
  const meters = RADIUS * Math.cos(latitude * RADIANS)
  return ([lon, lat]) => {
    const degreesEast = ((lon - longitude + 540) % 360) - 180
    return [degreesEast * RADIANS * meters, (mercator(latitude) - mercator(lat)) * meters]
  }
}

/** How far north a latitude lies on the map of a sphere with the radius 1. */
function mercator(latitude) {
  return Math.asinh(Math.tan(latitude * RADIANS))
}

/** The longest round length that is not longer than this. */
function scaleBar(mostMeters, units) {
  const [unit, unitMeters] =
    SCALE_UNITS[units].find(([, meters]) => meters <= mostMeters) ?? SCALE_UNITS[units].at(-1)
  const most = mostMeters / unitMeters
  const power = 10 ** Math.floor(Math.log10(most))
  const length = [5, 2, 1].find((digit) => digit * power <= most) * power
  return { text: `${length} ${unit}`, meters: length * unitMeters }
}

function distance(a, b) {
  return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY)
}

function pathOf(points) {
  return points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('')
}

function endMark(letter, kind) {
  const mark = make('g', { class: `end ${kind}` })
  mark.append(make('circle', { r: 10 }), make('text', { y: 4 }, letter))
  return mark
}

function make(name, attributes, text) {
  const element = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  if (text !== undefined) element.textContent = text
  return element
}
