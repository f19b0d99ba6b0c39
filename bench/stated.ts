import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rounded } from './figures.ts'
import type { Rows } from './table.ts'

/** The last output of a bench, as in `results/<name>.json`. */
export interface BenchResult {
  readonly rows?: Rows
  readonly [figure: string]: unknown
}

type Row = Rows[number]

/** A stated figure of streams, and where it is found. */
interface StatedFigure {
  readonly figure: string
  readonly bench: string
  /** The required value, at least or at most. */
  readonly least?: number
  readonly most?: number
  readonly measured: (result: BenchResult) => number | undefined
  /** The value of a server that does only the unavoidable, in the same run. */
  readonly limit?: (result: BenchResult) => number | undefined
}

const JSON_32 = 'json, frames of 32, 16 connections'
const SINGLE = 'json, frames of 1, 1000 connections'
const HTTP = 'POST /v1/track, 256 connections'
const MOST_READERS = 'websocket, 10,000 readers'

const FIGURES: readonly StatedFigure[] = [
  ...[
    ['stream, JSON, frames of 32: bare / Ringfence', JSON_32, 0.4],
    ['the same, no update skipped', `${JSON_32}, no skip`, 0.3],
    ['stream, one update a frame, 1,000 connections', SINGLE, 0.6],
  ].map(([figure, name, least]) => ({
    figure: figure as string,
    bench: 'stream',
    least: least as number,
    measured: (result: BenchResult) => number(rowOf(result, name as string), 'ratio'),
    limit: (result: BenchResult) => number(rowOf(result, name as string), 'ceiling'),
  })),
  ...['msgpack', 'protobuf'].map((encoding) => ({
    figure: `stream, ${encoding} / JSON, µs an update`,
    bench: 'stream',
    most: 1,
    measured: (result: BenchResult) =>
      quotient(
        number(rowOf(result, `${encoding}, frames of 32, 16 connections`), 'micros'),
        number(rowOf(result, JSON_32), 'micros'),
      ),
  })),
  {
    figure: 'HTTP, 256 connections: bare / Ringfence',
    bench: 'http',
    least: 0.7,
    measured: (result) => number(rowOf(result, HTTP), 'ratio'),
    limit: (result) => number(rowOf(result, HTTP), 'ceiling'),
  },
  ...(
    [
      ['stream, JSON, frames of 32', 'stream', JSON_32],
      ['stream, one update a frame', 'stream', SINGLE],
      ['HTTP', 'http', HTTP],
    ] as const
  ).flatMap(([title, bench, name]): StatedFigure[] => [
    {
      figure: `${title}: p50 above bare, ms`,
      bench,
      most: 3,
      measured: (result) => number(rowOf(result, name), 'overBareP50Ms'),
    },
    {
      figure: `${title}: p99 above bare, ms`,
      bench,
      most: 10,
      measured: (result) => number(rowOf(result, name), 'overBareP99Ms'),
      limit: (result) => number(rowOf(result, name), 'floorP99Ms'),
    },
  ]),
  {
    figure: 'an event to 10,000 WebSockets, ms of CPU',
    bench: 'fanout',
    most: 50,
    measured: (result) => number(rowOf(result, MOST_READERS), 'millisPerEvent'),
    limit: (result) => quotient(number(rowOf(result, MOST_READERS), 'bareMicros'), 0.1),
  },
  {
    figure: 'a delivery beside a stalled reader, times one without',
    bench: 'fanout',
    most: 1.05,
    measured: (result) => number(result, 'stallFactor'),
  },
  {
    figure: 'an update amid 1,000,000 geofences, times one amid 1,000',
    bench: 'growth',
    most: 1.5,
    measured: ({ rows = [] }) => {
      const factors = rows.filter((row) => row['geofences'] === 1_000_000).map((row) => Number(row['factor']))
      return factors.length === 0 ? undefined : Math.max(...factors)
    },
  },
  ...(
    [
      ['a circle in memory, bytes', 'circle', 'memoryBytes', 400],
      ['polygons in memory, times their raw coordinates', 'polygon', 'memoryShareOfRaw', 1.5],
      ['an idle device in memory, bytes', 'device', 'memoryBytes', 1024],
    ] as const
  ).map(([figure, part, key, most]) => ({
    figure,
    bench: 'sizes',
    most,
    measured: (result: BenchResult) => number((result[part] ?? {}) as Row, key),
  })),
  {
    figure: 'a start with a million devices, a tail of two million updates, s',
    bench: 'recover',
    most: 10,
    measured: (result) => number(result, 'seconds'),
    limit: (result) => number(rowOf(result, 'snapshots and 2 updates of each device'), 'bareReadSeconds'),
  },
  ...(
    [
      ['a sync of a million rows, all unchanged, s', 'force, all unchanged', 'seconds', 60],
      ['the same: memory above the server at rest, MB', 'force, all unchanged', 'aboveMb', 500],
      ['the same: p99 of an update beside it, above that at rest, ms', 'force, all unchanged', 'overMs', 5],
      ['a sync of a million rows, 1 % changed, s', '1 % changed', 'seconds', 90],
    ] as const
  ).map(([figure, name, key, most]) => ({
    figure,
    bench: 'sync',
    most,
    measured: (result: BenchResult) => number(rowOf(result, name), key),
  })),
]

/**
 * The table of stated figures.
 * @param result returns the result of the bench with this name; undefined if there is none
 */
export function statedRows(result: (bench: string) => BenchResult | undefined): Rows {
  return FIGURES.map(({ figure, bench, least, most, measured, limit }) => {
    const found = result(bench)
    const value = found && measured(found)
    return {
      figure,
      stated: least === undefined ? `≤ ${most}` : `≥ ${least}`,
      measured: value,
      reached: value === undefined ? undefined : isReached(value, least, most) ? 'yes' : 'no',
      limit: found && limit?.(found),
      command: `\`npm run bench -- ${bench}\``,
    }
  })
}

/** The stored result of a bench. */
export function keptResult(bench: string): BenchResult | undefined {
  try {
    return JSON.parse(
      readFileSync(join(import.meta.dirname, 'results', `${bench}.json`), 'utf8'),
    ) as BenchResult
  } catch {
    return undefined
  }
}

function isReached(value: number, least = -Infinity, most = Infinity): boolean {
  return value >= least && value <= most
}

function rowOf({ rows = [] }: BenchResult, name: string): Row {
  return rows.find((row) => row['case'] === name || row['start'] === name) ?? {}
}

function number(row: Row, key: string): number | undefined {
  const value = row[key]
  return typeof value === 'number' ? value : undefined
}

function quotient(value: number | undefined, by: number | undefined): number | undefined {
  return value === undefined || by === undefined ? undefined : rounded(value / by, 3)
}
