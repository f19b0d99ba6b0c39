/** What every implementation of `Positions` (src/actor/port.ts) must do, on random walks around areas. */
import type { Test } from 'tap'
import type { LivePosition, Positions } from '../../src/actor/port.ts'
import type { Position } from '../../src/model/geofence.ts'
import { LiveAreas, type LiveArea } from '../../src/spatial/liveAreas.ts'
import fc from '../kit/fastCheck.ts'

export interface PositionsUnderTest {
  readonly positions: Positions
  /** Resolves once the change is durable. */
  move(deviceId: string, at: Position): Promise<void>
  remove(deviceId: string): Promise<void>
}

/** The scope that all tests here use. */
export const SCOPE = 0
export const AREAS: readonly LiveArea[] = [
  { kind: 'circle', center: [13.4, 52.5], radius: 2000 },
  { kind: 'box', west: 179.9, south: -1, east: -179.9, north: 1 },
  {
    kind: 'polygon',
    ring: [
      [13.4, 52.5],
      [13.5, 52.5],
      [13.4, 52.6],
      [13.4, 52.5],
    ],
  },
]
/** Places in and about {@link AREAS}. */
export const spots = fc.oneof(
  fc
    .tuple(fc.integer({ min: -40, max: 120 }), fc.integer({ min: -30, max: 120 }))
    .map(([east, north]): Position => [13.4 + east / 1000, 52.5 + north / 1000]),
  fc.tuple(fc.constantFrom(179.85, 179.95, 180, -180, -179.95, -179.85), fc.constantFrom(-1.1, -1, 0, 0.9)),
)
const DEVICES = 40
const MOVES = 120

/** Where devices are, and what a watcher knows of it from a look at the areas and the updates since: by deviceId. */
export class Watcher {
  readonly known = new Map<string, LivePosition>()
  readonly viewers = AREAS.map(() => ({
    isEnded: false,
    found: (position: LivePosition) => this.#note(position),
    pause: () => {},
  }))

  constructor(positions: Positions) {
    positions.observer = {
      moved: (position) => this.#note(position),
      removed: (_, deviceId) => void this.known.delete(deviceId),
    }
  }

  /** The position is only valid during the call. */
  #note({ scope, deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt }: LivePosition): void {
    const kept = { scope, deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt }
    this.known.set(deviceId, kept)
  }

  /** Whether what the watcher knows matches what is in the areas. */
  agrees(there: ReadonlyMap<string, Position>): boolean {
    const known = new Map(
      [...this.known].map(([id, { longitude, latitude }]): [string, Position] => [id, [longitude, latitude]]),
    )
    return AREAS.every((area) => inside(area, known).join() === inside(area, there).join())
  }
}

/** The devices that are in an area. */
export function inside(area: LiveArea, places: ReadonlyMap<string, Position>): string[] {
  const areas = new LiveAreas<string>()
  areas.put('it', area)
  const holds = areas.tester('it')
  return [...places]
    .filter(([, [longitude, latitude]]) => holds(latitude, longitude))
    .map(([deviceId, at]) => `${deviceId} ${at.join()}`)
    .toSorted()
}

/** @param settle resolves when the condition is true; the test's time-out limits the wait */
export function positionsContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<PositionsUnderTest>,
  settle: (isTrue: () => boolean) => Promise<void>,
): void {
  t.test(`${name}: a search finds the devices that are there, and changes are reported`, async (t) => {
    const { positions, move, remove } = await open(t)
    const there = new Map<string, Position>()
    const walk = async (seed: number) => {
      for (const [i, at] of fc.sample(spots, { numRuns: MOVES, seed }).entries()) {
        const id = `device${i % DEVICES}`
        const isRemoved = i % 11 === 0 && there.delete(id)
        if (isRemoved) await remove(id)
        else {
          there.set(id, at)
          await move(id, at)
        }
      }
    }
    await walk(1)
    const watcher = new Watcher(positions)
    const look = () => Promise.all(AREAS.map((area, i) => positions.look(SCOPE, area, watcher.viewers[i]!)))
    await look()
    await settle(() => watcher.agrees(there))
    t.ok(AREAS.every((area) => inside(area, there).length > 0))
    const [position] = watcher.known.values()
    t.match(position, { scope: SCOPE, recordId: String, updatedAt: Number })
    // If a device moves during the look, the newer position counts.
    await Promise.all([walk(2), look()])
    await settle(() => watcher.agrees(there))
    await walk(3)
    await settle(() => watcher.agrees(there))
    t.pass('after moves and removals')
    // Not by the observer, which may still hear of late moves in the first scope.
    const elsewhere: string[] = []
    const found = ({ deviceId }: LivePosition) => void elsewhere.push(deviceId)
    const viewer = { isEnded: false, found, pause: () => {} }
    await positions.look(SCOPE + 1, AREAS[0]!, viewer)
    t.strictSame(elsewhere, [], 'another scope')
    for (const each of [...watcher.viewers, viewer]) each.isEnded = true
    positions.observer = undefined
  })
}
