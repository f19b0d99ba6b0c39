/** An update that is in many geofences or areas at once costs time in proportion to their number. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { LiveAreas } from '../../src/spatial/liveAreas.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { growthOf, ownCost } from './growth.ts'

const LARGE = 16_000
const SMALL = LARGE / 8

t.test('leaving one of very many geofences', async (t) => {
  const server = await startServer(t)
  // At each place one geofence has a radius of 100 m and all others have 200 m.
  for (const count of [SMALL, LARGE]) {
    const rows = Array.from(
      { length: count },
      (_, i) => `x,circle,${count},${i},"[${count / 1000},1]",${i === 0 ? 100 : 200}`,
    )
    const file = `description,type,tag,externalId,coordinates,radius\n${rows.join('\n')}\n`
    const type = { 'content-type': 'text/csv' }
    const { body } = await server.api('POST', '/v1/imports/geofences', file, KEYS.testSecret, type)
    t.equal(body.import.created, count)
  }
  const track = async (count: number, latitude: number) => {
    const update = { deviceId: `in ${count}`, longitude: count / 1000, latitude, accuracy: 5 }
    const { body } = await server.api('POST', '/v1/track', update, KEYS.testPublishable)
    return body.user.geofences.length
  }
  const processorMs = async () => {
    const { body } = await server.api('GET', '/metrics', undefined, null)
    return 1000 * Number(/^ringfence_cpu_seconds_total (\S+)$/m.exec(body)![1])
  }
  // A separate thread may still be indexing the events of the previous update.
  const quietMs = async () => {
    for (let before = await processorMs(); ;) {
      await sleep(100)
      const now = await processorMs()
      if (now - before < 10) return now
      before = now
    }
  }
  const cost = async (count: number) => {
    t.equal(await track(count, 1), count)
    const before = await quietMs()
    // 150 m to the north.
    t.equal(await track(count, 1.00136), count - 1)
    return (await processorMs()) - before
  }
  // Code that has not been compiled yet is slow, and would hide the growth.
  for (let i = 0; i < 20; i++) await track(SMALL, 1 + (i % 2) * 0.00136)
  const { small, large, isLinear } = await growthOf(cost, LARGE, 5)
  t.ok(isLinear, `${large.toFixed(1)} ms for ${LARGE} geofences, ${small.toFixed(1)} ms for ${SMALL}`)
})

t.test('very many watched boxes around one position', async (t) => {
  const areasOf = (count: number) => {
    const areas = new LiveAreas<number>()
    // Each area is so wide that it consists of two pieces.
    for (let i = 0; i < count; i++) areas.put(i, { kind: 'box', west: -60, east: 60, south: -1, north: 1 })
    return areas
  }
  const areas = new Map([SMALL, LARGE].map((count) => [count, areasOf(count)]))
  const cost = (count: number) => {
    const found: number[] = []
    // On the edge between the two pieces.
    const ms = ownCost(() => areas.get(count)!.holding(0, 0, found))
    t.equal(new Set(found).size, count)
    t.equal(found.length, count, 'each once')
    return ms
  }
  const { small, large, isLinear } = await growthOf(cost, LARGE, 0.5)
  t.ok(isLinear, `${large.toFixed(1)} ms for ${LARGE} boxes, ${small.toFixed(1)} ms for ${SMALL}`)
})
