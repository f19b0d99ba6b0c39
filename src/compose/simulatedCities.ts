import type { Intake } from '../actor/port.ts'
import type { AreaFinder } from '../registry/geofences/areaFinder.ts'
import { parseGeofence } from '../registry/geofences/parseGeofence.ts'
import { resolveArea } from '../registry/geofences/resolveArea.ts'
import type { Registry } from '../registry/registry.ts'
import { systemTime } from '../runtime/clock.ts'
import { Simulations } from '../simulation/simulations.ts'

/** Simulations whose geofences are in the registry, and whose updates go the way of all others. */
export function simulatedCities(registry: Registry, intake: Intake, finder: AreaFinder): Simulations {
  const { geofences } = registry
  return new Simulations({
    intake,
    time: systemTime,
    async putGeofences(scope, wanted) {
      const definitions = await Promise.all(
        wanted.map((fields) => resolveArea(parseGeofence({ ...fields }), finder)),
      )
      await geofences.edit(() => geofences.putMany(scope, definitions))
    },
    async deleteGeofences(scope, pairs) {
      await geofences.edit(() => {
        const { records } = geofences.store(scope)
        const ids = pairs.flatMap(([tag, externalId]) => records.byPair(tag, externalId)?.id ?? [])
        if (ids.length > 0) geofences.deleteMany(scope, ids, [])
      })
    },
  })
}
