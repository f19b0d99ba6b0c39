/** What it costs to tell trips of the geofences that a device is in (G7). */
import t from 'tap'
import { aGeofence, Engine, HERE } from './kit.ts'

const STAYS = 50

t.test(
  'an update that moves trips counts with every stay, also where the first tier handles it',
  async (t) => {
    const engine = new Engine({ partitions: 1 })
    for (let i = 1; i <= STAYS; i++) engine.world.put(aGeofence(i))
    const [partition] = engine.partitions
    const track = async (more: object = {}) => {
      engine.clock.advance(1000)
      const hits = partition!.zoneHits
      await engine.track(engine.update({ deviceId: 'van', ...HERE, ...more }))
      return { meetings: partition!.meetings, isFirstTier: partition!.zoneHits > hits }
    }
    await track()
    await track()
    t.strictSame(await track(), { meetings: 0, isFirstTier: true })
    t.strictSame(await track({ tripOptions: { externalId: 'tour' } }), { meetings: STAYS, isFirstTier: true })
  },
)
