/* Directions: requests them from this server, and shows them as a drawing and as a list. */

import { AddressField, Refused } from './addressField.js'
import { openMap } from './map.js'
import { RouteDrawing } from './routeDrawing.js'

/** The pause before another attempt if the server does not name one. */
const RETRY_SECONDS = 10

const element = (id) => document.getElementById(id)
const form = element('question')
const fields = form.elements
const drawing = new RouteDrawing(element('drawing'), {
  onStep: markStep,
  onRoute: chooseRoute,
  onView: moveMap,
})

/** The routes of the last answer. */
let routes = []
/** The map behind the drawing. It is opened with the first answer, and undefined if there can be none. */
let background
let backgroundView
/** The credits of the routes, and of the map. */
let credits = ['', '']
let asking = new AbortController()
let retry

const ENDS = ['from', 'to']
const places = ENDS.map(
  (end, i) =>
    new AddressField(fields[end], element(`${end}-found`), {
      headers,
      near: () => places[1 - i].coordinates,
    }),
)
for (const end of ENDS) linkPlace(fields[`${end}Place`], fields[end])
form.addEventListener('submit', (event) => {
  event.preventDefault()
  element('status').textContent = 'Asking…'
  void ask()
})
for (const button of document.querySelectorAll('[data-zoom]'))
  button.addEventListener('click', () => drawing.zoom(button.dataset.zoom))

/** The chosen address is written as coordinates; coordinates that belong to no address choose none. */
function linkPlace(choice, text) {
  choice.addEventListener('change', () => {
    if (choice.value === '') text.select()
    else text.value = choice.value
    text.dispatchEvent(new Event('input'))
  })
  text.addEventListener('input', () => {
    if (choice.value === text.value) return
    choice.value = text.value.trim()
    if (choice.selectedIndex < 0) choice.value = ''
  })
  // A reload may only restore the text.
  text.dispatchEvent(new Event('input'))
}

/** Sends the form's question; the answer to an earlier question is ignored from then on. */
async function ask() {
  asking.abort()
  clearTimeout(retry)
  asking = new AbortController()
  const { signal } = asking
  const units = fields.units.value
  let answer
  let body
  try {
    const points = await Promise.all(places.map((place) => place.locate(signal)))
    if (signal.aborted) return
    if (points.includes(undefined)) {
      showUnknown(points)
      return
    }
    answer = await fetch(`/v1/route/directions?${question(points)}`, { headers: headers(), signal })
    body = await answer.json()
  } catch (error) {
    if (signal.aborted) return
    if (error instanceof Refused) {
      if (error.answer.status === 503) waitFor(error.answer, error.body)
      else showTrouble(error.body.meta)
      return
    }
    showTrouble({ message: `The server cannot be asked: ${error.message}` })
    return
  }
  if (signal.aborted) return
  if (answer.status === 503) waitFor(answer, body)
  else if (answer.ok) showAnswer(body, units)
  else showTrouble(body.meta)
}

function headers() {
  const key = element('key').value.trim()
  return key === '' ? {} : { Authorization: key }
}

function question(points) {
  const avoid = Array.from(form.querySelectorAll('[name=avoid]:checked'), ({ value }) => value)
  return new URLSearchParams({
    locations: points.join('|'),
    mode: fields.mode.value,
    units: fields.units.value,
    lang: fields.lang.value,
    ...(avoid.length > 0 && { avoid: avoid.join(',') }),
    alternatives: true,
    geometry: 'linestring',
  })
}

/** Repeats the request automatically, because the map region may be on its way. */
function waitFor(answer, { meta }) {
  const seconds = Number(answer.headers.get('Retry-After')) || RETRY_SECONDS
  clear()
  element('status').textContent = `${meta.message} Trying again every ${seconds} s.`
  retry = setTimeout(ask, seconds * 1000)
}

/** The server's error message, at the field that it concerns. */
function showTrouble({ code, param, message }) {
  clear()
  const lacksKey = code === 401 && element('key').value.trim() === ''
  // Sentences about a parameter begin with its name.
  const text = code === undefined ? message : `${code}: ${message}`
  element('trouble').textContent = lacksKey ? 'Put a key into the field at the top.' : text
  const number = /Number (\d)/.exec(message)?.[1]
  for (const [i, end] of ENDS.entries())
    if (param === 'locations' && (number === undefined || Number(number) === i + 1))
      fields[end].setAttribute('aria-invalid', 'true')
  if (code === 401) element('key').focus()
}

/** Addresses that the server does not know. */
function showUnknown(points) {
  clear()
  const unknown = ENDS.filter((_, i) => points[i] === undefined)
  for (const end of unknown) fields[end].setAttribute('aria-invalid', 'true')
  const names = unknown.map((end) => `“${fields[end].value.trim()}”`).join(' and ')
  element('trouble').textContent = `No region of this server has ${names}.`
}

function clear() {
  element('trouble').textContent = ''
  element('status').textContent = ''
  element('answer').hidden = true
  for (const end of ENDS) fields[end].removeAttribute('aria-invalid')
}

function showAnswer({ meta, routes: found }, units) {
  clear()
  routes = found
  const [{ distance, duration }] = routes
  const others = routes.length - 1
  const besides = others === 0 ? '' : `, and ${others === 1 ? 'another way' : `${others} other ways`}`
  element('status').textContent = `${distance.text}, ${duration.text}${besides}.`
  showCredit(0, meta.attribution ?? '')
  element('steps').lang = fields.lang.value
  element('answer').hidden = false
  element('ways').replaceChildren(element('ways').firstElementChild, ...routes.map(wayChoice))
  drawing.show(routes, units)
  chooseRoute(0)
  background ??= openBackground()
}

/** Puts a map behind the drawing, if there can be one. */
async function openBackground() {
  const opened = await openMap(element('background'), {
    ...backgroundView,
    isStill: true,
    onCredits: (text) => showCredit(1, text),
  })
  if (opened === undefined) return undefined
  element('drawing').classList.add('mapped')
  // The drawing may have been moved in the meantime.
  opened.map.jumpTo(backgroundView)
  return opened.map
}

function moveMap(view) {
  backgroundView = view
  void background?.then((map) => map?.jumpTo(view))
}

function showCredit(place, text) {
  credits[place] = text
  const all = credits.flatMap((credit) => credit.split(', ')).filter((credit) => credit !== '')
  element('credit').textContent = [...new Set(all)].join(', ')
}

function wayChoice({ distance, duration }, i) {
  const input = make('input', '', { type: 'radio', name: 'way', value: i })
  input.addEventListener('change', () => chooseRoute(i))
  const label = make('label', '')
  label.append(input, ` ${distance.text}, ${duration.text}`)
  return label
}

/** Lists and draws the steps of one of the routes. */
function chooseRoute(index) {
  element('ways').querySelectorAll('input')[index].checked = true
  drawing.choose(index)
  element('steps').replaceChildren(...stepsOf(routes[index]).map(stepItem))
}

function stepItem(step, i) {
  const button = make('button', '', { type: 'button' })
  button.append(make('span', step.instructions))
  if (step.distance.value > 0) button.append(make('small', step.distance.text))
  for (const event of ['pointerenter', 'focus']) button.addEventListener(event, () => markStep(i))
  for (const event of ['pointerleave', 'blur']) button.addEventListener(event, () => markStep(undefined))
  button.addEventListener('click', () => drawing.showStep(i))
  const item = make('li', '')
  item.append(button)
  return item
}

/**
 * Marks a step.
 * @param index the index of a step of the chosen route; undefined marks none
 */
function markStep(index) {
  drawing.mark(index)
  for (const [i, item] of [...element('steps').children].entries())
    item.classList.toggle('marked', i === index)
}

function stepsOf(route) {
  return route.legs.flatMap(({ steps }) => steps)
}

function make(name, text, properties = {}) {
  return Object.assign(document.createElement(name), { textContent: text, ...properties })
}
