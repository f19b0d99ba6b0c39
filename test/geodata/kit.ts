/** Small extracts of streets, their regions, and `npm run region` as a separate process. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import {
  writeOsmPbf,
  type OsmNode,
  type OsmRelation,
  type OsmWay,
} from '../../src/geo/extract/osmPbfWriter.ts'
import type { Position } from '../../src/model/geofence.ts'
import { NODE_OPTIONS } from '../kit/nodeOptions.ts'

const COMMAND = fileURLToPath(new URL('../../src/region.ts', import.meta.url))
/** Streets in each direction, and degrees of latitude between them. */
const STREETS = 8
const STEP = 0.002

export const QUEENS: Position = [-73.74, 40.71]
export const LONDON: Position = [-0.1, 51.5]

export function temporaryFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-geodata-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes {@link streets}. */
export function writeStreets(path: string, corner: Position): void {
  writeOsmPbf(path, streets(corner))
}

/** Eight streets from west to east and eight from south to north, from a corner in the south-west. */
export function streets([west, south]: Position): {
  dataOf: number
  nodes: OsmNode[]
  ways: OsmWay[]
  relations: OsmRelation[]
} {
  const range = Array.from({ length: STREETS }, (_, i) => i)
  const id = (column: number, row: number): number => 1 + row * STREETS + column
  const nodes: OsmNode[] = range.flatMap((row) =>
    range.map((column) => ({
      id: id(column, row),
      longitude: west + column * STEP,
      latitude: south + row * STEP,
      tags: column === row ? { highway: 'traffic_signals' } : {},
    })),
  )
  const tags = { highway: 'residential' }
  const across: OsmWay[] = range.map((row) => ({
    id: 1 + row,
    nodes: range.map((column) => id(column, row)),
    tags: { ...tags, name: `Row ${row}` },
  }))
  const along: OsmWay[] = range.map((column) => ({
    id: 101 + column,
    nodes: range.map((row) => id(column, row)),
    tags: { ...tags, name: `Column ${column}` },
  }))
  return { dataOf: Date.UTC(2026, 0, 2), nodes, ways: [...across, ...along], relations: [] }
}

/** A running `npm run region -- …`. */
export class RegionProcess {
  /** What it wrote to stdout and stderr. */
  output = ''
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>

  constructor(args: readonly string[]) {
    this.#child = spawn('env', [`NODE_OPTIONS=${NODE_OPTIONS}`, process.execPath, COMMAND, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    this.#closed = once(this.#child, 'close')
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** The exit code, or null if a signal ended the process. */
  async ended(): Promise<number | null> {
    await this.#closed
    return this.#child.exitCode
  }
}

/** Runs it to its end. */
export async function region(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const process = new RegionProcess(args)
  const code = await process.ended()
  return { code, output: process.output }
}
