/** Writes geofences until the disk is full, and then prints the error. */
import { openRegistry } from '../../src/registry/registry.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'

const registry = openRegistry({
  folder: process.argv[2]!,
  clock: systemClock,
  createIndex: createGeofenceIndex,
})
registry.createFirstProject()
const BATCH = 20
for (let stored = 0; ; stored += BATCH) {
  try {
    registry.geofences.putMany(
      2,
      Array.from({ length: BATCH }, (_, i) => ({
        tag: `${stored}`,
        externalId: `${i}`,
        description: 'x'.repeat(1000),
        type: 'circle' as const,
        shape: { kind: 'circle' as const, center: [0, 0] as const, radius: 100 },
        enabled: true,
      })),
    )
  } catch (error) {
    const { name, message, code } = error as Error & { code?: number }
    const { revision } = registry
    const sizeInMemory = registry.scope(2).geofences.records.size
    process.stdout.write(JSON.stringify({ name, message, code, stored, revision, sizeInMemory }))
    process.exit(0)
  }
}
