/**
 * Writes generations of the same 50 geofences, one transaction each, until it is killed. Prints each generation that
 * is done.
 */
import { writeSync } from 'node:fs'
import { openRegistry } from '../../src/registry/registry.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'

const registry = openRegistry({
  folder: process.argv[2]!,
  clock: systemClock,
  createIndex: createGeofenceIndex,
})
registry.createFirstProject()
for (let generation = 1; ; generation++) {
  registry.geofences.putMany(
    2,
    Array.from({ length: 50 }, (_, i) => ({
      tag: 'store',
      externalId: `${i}`,
      description: 'x',
      type: 'circle' as const,
      shape: { kind: 'circle' as const, center: [0, 0] as const, radius: 100 },
      enabled: true,
      metadata: { generation },
    })),
  )
  writeSync(1, `${generation}\n`)
}
