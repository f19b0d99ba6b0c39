/* The playground: asks the geo services what the chosen form says, and shows the answers in a list and on the map. */

import { openMap } from './map.js'

/** A position in the sample region. */
const START = { center: [-56.19, -34.9], zoom: 14 }
/** The server is asked when typing has paused for this many milliseconds. */
const PAUSE_MS = 150
/** The pause before another attempt if the server does not name one. */
const RETRY_SECONDS = 10
const CLOSE_ZOOM = 16

const element = (id) => document.getElementById(id)
const forms = new Map(['search', 'places', 'validate', 'reverse'].map((kind) => [kind, element(kind)]))

let kind = 'search'
let asking = new AbortController()
let retry
let typed
/** The opened map as `{map, maplibre}`; undefined if there is no map. */
let shown
let markers = []

for (const choice of document.querySelectorAll('[name=kind]'))
  choice.addEventListener('change', () => choose(choice.value))
for (const [name, form] of forms)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    clearTimeout(typed)
    void ask(questionOf(name, true))
  })
forms.get('search').elements.query.addEventListener('input', () => {
  clearTimeout(typed)
  typed = setTimeout(() => void ask(questionOf('search', false)), PAUSE_MS)
})
void showMap()

async function showMap() {
  shown = await openMap(element('map'), {
    ...START,
    onCredits: (text) => (element('credit').textContent = text),
  })
  element('no-map').hidden = shown !== undefined
  if (shown === undefined) return
  const { map, maplibre } = shown
  map.addControl(new maplibre.NavigationControl({ showCompass: false }), 'top-right')
  map.on('click', ({ lngLat }) => clicked(lngLat))
}

function choose(chosen) {
  kind = chosen
  for (const [name, form] of forms) form.hidden = name !== kind
  asking.abort()
  clearTimeout(typed)
  clear()
  forms.get(kind).querySelector('input').focus()
}

/** Asks about the clicked point, if the form asks about a point. */
function clicked({ lat, lng }) {
  const point = `${lat.toFixed(6)},${lng.toFixed(6)}`
  if (kind === 'places') void ask(questionOf('places', true, point))
  if (kind !== 'reverse') return
  forms.get('reverse').elements.coordinates.value = point
  void ask(questionOf('reverse', true))
}

/** The middle of the map as `latitude,longitude`. */
function middle() {
  const { lat, lng } = shown?.map.getCenter() ?? { lat: START.center[1], lng: START.center[0] }
  return `${lat.toFixed(6)},${lng.toFixed(6)}`
}

/**
 * The call of a form as `{path, query}`; undefined if there is nothing to ask.
 * @param isWhole whether the text is finished
 * @param point the point that was clicked
 */
function questionOf(name, isWhole, point = middle()) {
  const { elements } = forms.get(name)
  const value = (field) => elements[field].value.trim()
  if (name === 'search') {
    if (value('query') === '') return undefined
    return isWhole
      ? { path: '/v1/geocode/forward', query: { query: value('query') } }
      : { path: '/v1/search/autocomplete', query: { query: elements.query.value, near: point, limit: 8 } }
  }
  if (name === 'places') {
    const wanted = value('wanted')
    // The answer shows whether it is the slug of a category, because a chain has none.
    return {
      path: '/v1/search/places',
      query: { near: point, categories: wanted, radius: value('radius'), limit: value('limit') },
      otherwise: { near: point, chains: wanted, radius: value('radius'), limit: value('limit') },
    }
  }
  if (name === 'validate')
    return {
      path: '/v1/addresses/validate',
      query: Object.fromEntries(
        ['addressLabel', 'city', 'stateCode', 'postalCode', 'countryCode'].map((field) => [
          field,
          value(field),
        ]),
      ),
    }
  return {
    path: '/v1/geocode/reverse',
    query: {
      coordinates: value('coordinates') || point,
      layers: 'address,place,street,intersection,neighborhood,coarse',
    },
  }
}

/** Asks the server; the answer to an earlier question is ignored from then on. */
async function ask(question) {
  asking.abort()
  clearTimeout(retry)
  if (question === undefined) {
    clear()
    return
  }
  asking = new AbortController()
  const { signal } = asking
  try {
    let { answer, body, call } = await request(question.path, question.query, signal)
    if (answer.ok && body.places?.length === 0 && question.otherwise !== undefined)
      ({ answer, body, call } = await request(question.path, question.otherwise, signal))
    if (signal.aborted) return
    clear()
    element('raw').hidden = false
    element('call').textContent = `GET ${call}`
    element('answer').textContent = JSON.stringify(body, undefined, 2)
    if (answer.status === 503) waitFor(answer, body, question)
    else if (answer.ok) show(body, question)
    else showTrouble(body.meta)
  } catch (error) {
    if (!signal.aborted) showTrouble({ message: `The server cannot be asked: ${error.message}` })
  }
}

async function request(path, query, signal) {
  const call = `${path}?${new URLSearchParams(query)}`
  const key = element('key').value.trim()
  const answer = await fetch(call, { headers: key === '' ? {} : { Authorization: key }, signal })
  return { answer, body: await answer.json(), call }
}

/** Repeats the request, because the data that it needs may be on their way. */
function waitFor(answer, { meta }, question) {
  const seconds = Number(answer.headers.get('Retry-After')) || RETRY_SECONDS
  element('status').textContent = `${meta.message} Trying again every ${seconds} s.`
  retry = setTimeout(() => void ask(question), seconds * 1000)
}

/** The server's error message, at the field that it concerns. */
function showTrouble({ code, param, message }) {
  clear()
  element('trouble').textContent = code === undefined ? message : `${code}: ${message}`
  forms.get(kind).elements[param]?.setAttribute('aria-invalid', 'true')
  if (code === 401) element('key').focus()
}

function clear() {
  element('trouble').textContent = ''
  element('status').textContent = ''
  element('results').replaceChildren()
  element('raw').hidden = true
  for (const field of document.querySelectorAll('[aria-invalid]')) field.removeAttribute('aria-invalid')
  for (const marker of markers) marker.remove()
  markers = []
}

function show(body, { path }) {
  if (body.address !== undefined) {
    showValidation(body)
    return
  }
  const items = (body.addresses ?? body.places).map(itemOf)
  element('status').textContent =
    items.length === 0
      ? 'Nothing was found.'
      : `${items.length} ${items.length === 1 ? 'result' : 'results'}.`
  element('results').replaceChildren(...items.map(listItem))
  markers = items.map((item, i) => markerOf(item, i)).filter((marker) => marker !== undefined)
  // While someone types, the map stays where it is.
  if (path !== '/v1/search/autocomplete') fit(items)
}

/** A result for the list as `{title, text, at}`; `at` is [longitude, latitude]. */
function itemOf({
  formattedAddress,
  placeLabel,
  name,
  layer,
  confidence,
  distance,
  categories,
  location,
  longitude,
  latitude,
  chain,
}) {
  const at = location?.coordinates ?? [longitude, latitude]
  const title = placeLabel ?? name ?? formattedAddress
  const facts = [
    title === formattedAddress ? undefined : formattedAddress,
    layer,
    confidence,
    chain?.name,
    categories?.at(-1),
    distance === undefined ? undefined : `${Math.round(distance)} m`,
  ]
  return { title, text: facts.filter((fact) => fact !== undefined).join(' · '), at }
}

function listItem({ title, text, at }) {
  const button = make('button', { type: 'button' })
  button.append(make('span', { textContent: title }), make('small', { textContent: text }))
  button.addEventListener('click', () =>
    shown?.map.jumpTo({ center: at, zoom: Math.max(CLOSE_ZOOM, shown.map.getZoom()) }),
  )
  const item = make('li', {})
  item.append(button)
  return item
}

function markerOf({ title, at }, i) {
  if (shown === undefined || at.some((part) => part === undefined)) return undefined
  const pin = make('div', { className: 'pin', textContent: i + 1, title })
  return new shown.maplibre.Marker({ element: pin }).setLngLat(at).addTo(shown.map)
}

function fit(items) {
  if (shown === undefined || items.length === 0) return
  const bounds = new shown.maplibre.LngLatBounds()
  for (const { at } of items) bounds.extend(at)
  // The results may include areas as large as a country, so only the point is shown.
  if (kind === 'reverse')
    shown.map.jumpTo({ center: items[0].at, zoom: Math.max(CLOSE_ZOOM, shown.map.getZoom()) })
  else shown.map.fitBounds(bounds, { padding: 50, maxZoom: CLOSE_ZOOM, animate: false })
}

function showValidation({ address, result }) {
  element('status').textContent = `${result.verificationStatus}: ${address.formattedAddress}`
  const facts = { ...address, ...address.metadata, analysis: result.analysis?.join(', ') }
  const lines = Object.entries(facts).filter(([, value]) => typeof value === 'string')
  element('results').replaceChildren(
    ...lines.map(([name, value]) => {
      const item = make('li', { className: 'fact' })
      item.append(make('small', { textContent: name }), make('span', { textContent: value }))
      return item
    }),
  )
}

function make(name, properties) {
  return Object.assign(document.createElement(name), properties)
}
