import geodesic from 'geographiclib-geodesic'
import type { Settings } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'
import type { Point } from './world.ts'

/** The regions part of oracle.ts: written from docs/spec.md, "Regions". */

export type Kind = 'country' | 'state' | 'dma' | 'postalCode'

const KINDS: readonly Kind[] = ['country', 'state', 'dma', 'postalCode']
const EVENT_ORDER: readonly Kind[] = ['state', 'dma', 'postalCode', 'country']

/** A region that a user is in. */
export interface RegionStay {
  readonly code: string
  readonly enteredAt: number
}

export type RegionStays = { readonly [K in Kind]?: RegionStay }

/** What the evaluator sees of an invented world. */
export interface RegionWorld {
  /** Codes of the four kinds, with `/` between them. */
  codesAt(point: Point): string
  /** Whether the point is so close to a border that the engine may be on either side of it. */
  isAtBorder(point: Point, meters: number): boolean
}

export interface RegionEvent {
  readonly kind: Kind
  readonly what: 'entered' | 'exited'
  readonly code: string
  readonly confidence: number
  readonly minutes?: number
}

/**
 * @param answered the regions that the engine reports, and the confidences of its events, which decide cases that are
 * too close to call
 */
export function evaluateRegions(
  world: RegionWorld,
  before: RegionStays,
  update: Update,
  time: number,
  settings: Settings,
  answered: { readonly stays: RegionStays; readonly confidenceOf: (kind: Kind) => number | undefined },
): { readonly stays: RegionStays; readonly events: readonly RegionEvent[] } {
  if (!settings.regions) return { stays: {}, events: [] }
  const accuracy = Math.min(update.accuracy ?? 0, 50_000)
  if (accuracy > 10_000) return { stays: before, events: [] }
  const codesAt = (point: Point): Record<Kind, string> => {
    const codes = world.codesAt(point).split('/')
    return Object.fromEntries(KINDS.map((kind, i) => [kind, codes[i]!])) as Record<Kind, string>
  }
  const here = codesAt(update)
  const around = [0, 90, 180, 270].map((azimuth) => {
    const { lat2, lon2 } = geodesic.Geodesic.WGS84.Direct(
      update.latitude,
      update.longitude,
      azimuth,
      accuracy,
    )
    const point = { latitude: lat2!, longitude: lon2! }
    return { codes: codesAt(point), isUnclear: world.isAtBorder(point, 0.01 + accuracy / 1000) }
  })
  const stays: { [K in Kind]?: RegionStay } = { ...before }
  const events: RegionEvent[] = []
  for (const kind of EVENT_ORDER) {
    const was = before[kind]
    const is = here[kind]
    if ((was?.code ?? '') === is) continue
    const sure = around.filter(({ codes, isUnclear }) => codes[kind] === is && !isUnclear).length
    const possible = around.filter(({ codes, isUnclear }) => codes[kind] === is || isUnclear).length
    const confidences = new Set<number>()
    for (let count = sure; count <= possible; count++) confidences.add(count === 4 ? 3 : count >= 2 ? 2 : 1)
    if (update.accuracy === undefined) confidences.clear()
    if (update.accuracy === undefined) confidences.add(1)
    const changes = [...confidences].filter((confidence) => confidence >= settings.minimumConfidence)
    const isSame = (answered.stays[kind]?.code ?? '') === (was?.code ?? '')
    if (changes.length === 0 || (isSame && changes.length < confidences.size)) continue
    const told = answered.confidenceOf(kind)
    const confidence = changes.find((one) => one === told) ?? changes[0]!
    if (is === '') delete stays[kind]
    else stays[kind] = { code: is, enteredAt: time }
    if (!settings.regionEvents.includes(kind)) continue
    if (was !== undefined) {
      const minutes = (time - was.enteredAt) / 60_000
      events.push({ kind, what: 'exited', code: was.code, confidence, minutes })
    }
    if (is !== '') events.push({ kind, what: 'entered', code: is, confidence })
  }
  return { stays, events }
}
