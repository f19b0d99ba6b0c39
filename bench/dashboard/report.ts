/** The stated figures of the dashboard beside what was measured. */
import { median, rounded, thousands } from '../figures.ts'
import { DASHBOARDS, type Beside } from './beside.ts'
import type { BuildFigures } from './firstBuild.ts'
import type { HeapCourse } from './heap.ts'
import { middle, type Opening } from './opening.ts'
import type { PagesFigures } from './pages.ts'
import { LIVELY, type Liveliness } from './simulation.ts'

/** CPU of an update beside ten dashboards, as a multiple of that without, at most. */
const STATED_RATIO = 1.1
/** A page in a browser must be usable after this time. */
const STATED_USABLE_SECONDS = 3
const STATED_LIVELY_SECONDS = 10
const STATED_FRAMES = 30
const STATED_MAIN_SHARE = 0.8
const STATED_HEAP_MEGABYTES = 150
const STATED_BUILD_SECONDS = 15
/** By which share of it a stated figure may be missed in a strict run. */
const TOLERANCE = 0.1

/** A line of the table. */
export interface Row {
  readonly figure: string
  readonly stated: string
  readonly measured: number
  readonly reached: string
}

/** How the live map was opened: the files came over the network, or were there from the time before. */
export interface Openings {
  /** The first map of a server that has just started. */
  readonly first: Opening
  readonly cold: readonly Opening[]
  readonly warm: readonly Opening[]
  /** Without a view in the address: the page looks where the devices are. */
  readonly coldHome: readonly Opening[]
  readonly warmHome: readonly Opening[]
  /** While every device sends a position a second. */
  readonly coldBusy: readonly Opening[]
  readonly warmBusy: readonly Opening[]
}

/** A figure that must be at most, or at least, what is stated; without either it is only told. */
function row(figure: string, measured: number, { most, least }: { most?: number; least?: number } = {}): Row {
  const stated = most !== undefined ? `≤ ${most}` : least !== undefined ? `≥ ${least}` : ''
  const isReached = measured <= (most ?? Infinity) && measured >= (least ?? -Infinity)
  return { figure, stated, measured, reached: stated === '' ? '' : isReached ? 'yes' : 'no' }
}

/** Whether a row misses what is stated by more than a tenth. */
export function isMissed({ stated, measured }: Row): boolean {
  const bound = Number(stated.slice(2))
  if (stated.startsWith('≤')) return measured > bound * (1 + TOLERANCE)
  return stated.startsWith('≥') && measured < bound * (1 - TOLERANCE)
}

export function besideRows({ microsBeside, microsWithout }: Beside): Row[] {
  return [
    row(
      `CPU of an update beside ${DASHBOARDS} dashboards, times without`,
      rounded(microsBeside / microsWithout, 3),
      { most: STATED_RATIO },
    ),
  ]
}

export function openingRows(openings: Openings, devices: number): Row[] {
  const most = STATED_USABLE_SECONDS
  const usable = (figure: string, some: readonly Opening[]) => row(figure, middle(some).usable, { most })
  return [
    usable(`live map of ${thousands(devices)} devices usable, a new browser, seconds`, openings.cold),
    usable('the same, a browser that was there before', openings.warm),
    usable('the same with no place in the address, a new browser', openings.coldHome),
    usable('the same with no place in the address, a browser that was there before', openings.warmHome),
    usable(`the same beside ${thousands(devices)} positions/s, a new browser`, openings.coldBusy),
    usable(
      `the same beside ${thousands(devices)} positions/s, a browser that was there before`,
      openings.warmBusy,
    ),
    usable('the first map of a server that has just started, a new browser', [openings.first]),
  ]
}

export function simulationRows(lively: readonly Liveliness[]): Row[] {
  const of = (name: keyof Liveliness) => median(lively.map((one) => one[name]))
  const most = STATED_LIVELY_SECONDS
  return [
    row(`from "Simulate a city" until ${LIVELY} devices have moved on the map, seconds`, of('lively'), {
      most,
    }),
    row('the same until the map of the city is complete', of('background'), { most }),
    row('the same until the first event is beside it', of('event'), { most }),
  ]
}

export function pageRows({ shared, alone, memory, idleFrames }: PagesFigures): Row[] {
  const where = `${thousands(shared.devices)} devices, ${thousands(shared.updatesPerSecond)} updates/s, beside server and generator`
  const itself = `${thousands(alone.own.devices)} positions/s from a recorded source`
  const frames = { least: STATED_FRAMES }
  const share = { most: STATED_MAIN_SHARE }
  return [
    row(`new frames a second, ${itself}`, alone.own.framesPerSecond, frames),
    row('the same: main thread busy, share', alone.own.mainThreadShare, share),
    row('the same: CPU of the whole browser', alone.own.browserCpu),
    row('the same through an emulated graphics card: frames', alone.emulated.framesPerSecond),
    row(`new frames a second, ${where}`, shared.framesPerSecond, frames),
    row('the same: main thread busy, share', shared.mainThreadShare, share),
    row('heap of the page, MB', memory.heapMegabytes, { most: STATED_HEAP_MEGABYTES }),
    row('frames while nothing moves', idleFrames, { most: 0 }),
  ]
}

export function buildRows({ buildSeconds, apiSeconds, apiSecondsBuilt }: BuildFigures): Row[] {
  return [
    row('first build, from the start of the server, seconds', buildSeconds, { most: STATED_BUILD_SECONDS }),
    row('start to the API beside the build, seconds', apiSeconds),
    row('the same with pages that are there', apiSecondsBuilt),
  ]
}

export function heapRows({ memories, mostMegabytes, megabytesAnHour, afterAnHour }: HeapCourse): Row[] {
  const most = STATED_HEAP_MEGABYTES
  return [
    row(`heap of the page, most in ${memories.length - 1} minutes, MB`, mostMegabytes, { most }),
    row('heap after an hour, by the slope of the second half, MB', afterAnHour, { most }),
    row('that slope, MB an hour', megabytesAnHour),
    row('events that came meanwhile', memories.at(-1)!.events),
  ]
}
