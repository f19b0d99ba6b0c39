/** Extracts of OpenStreetMap as admins send them, good ones and others. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Arbitrary } from 'fast-check'
import { QUEENS, writeStreets } from '../geodata/kit.ts'
import fc from '../kit/fastCheck.ts'

function smallTown(): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-fuzz-'))
  try {
    const path = join(folder, 'town.osm.pbf')
    writeStreets(path, QUEENS)
    return readFileSync(path)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One that can be imported. */
export const town = smallTown()

/** Mostly such that cannot be imported: an import takes seconds of a processor. */
export const extracts: Arbitrary<Uint8Array> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(town) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: town.length - 1 }).map((end) => town.subarray(0, end)) },
)
