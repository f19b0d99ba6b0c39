/** How geofences and project settings affect updates of a real process: which events there are, and in which order. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { at, briefly, createOwn, iso, north, startApi, type Json } from './contract.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** A Monday, for tests that choose their own times. The times of a device must only increase. */
const MONDAY = Date.parse('2026-01-05T00:00:00Z')

const api = await startApi(t)
const { call } = api
const { place, device } = createOwn()

t.test('confidence of entry and exit', async (t) => {
  const here = place()
  await api.circle('conf/a', here, 100)
  /** Signed metres from the boundary and accuracy → the events after having been inside or outside. */
  const entry = async (meters: number, accuracy: number) =>
    briefly((await api.track({ deviceId: device(), ...at(here, 100 + meters), accuracy })).events)[0]?.at(-1)
  t.equal(await entry(-50, 49), '3')
  t.equal(await entry(-50, 51), '2')
  t.equal(await entry(-100, 140), '2')
  t.equal(await entry(-100, 143), '1')
  t.equal(await entry(-1, 100), '1')
  t.equal(await entry(-100, 1e9), '1')
  t.equal(await entry(1, 5), undefined)
  const exit = async (meters: number, accuracy: number) => {
    const deviceId = device()
    await api.track({ deviceId, ...at(here) })
    return briefly((await api.track({ deviceId, ...at(here, 100 + meters), accuracy })).events)[0]
  }
  t.equal(await exit(50, 49), 'exited conf/a 3')
  t.equal(await exit(50, 51), 'exited conf/a 2')
  t.equal(await exit(50, 99), 'exited conf/a 2')
  t.equal(await exit(50, 102), 'exited conf/a 1')
})

t.test('geofence changes reach the very next update', async (t) => {
  const here = place()
  const deviceId = device()
  const next = async (metersNorth = 0) =>
    briefly((await api.track({ deviceId, ...at(here, metersNorth) })).events)
  const inside = async () => (await call('GET', `/v1/users/${deviceId}`)).body.user.geofences.length

  t.strictSame(await next(), [])
  const { _id } = await api.circle('edit/1', here, 100)
  t.strictSame(await next(), ['entered edit/1 3'], 'created')
  t.strictSame(await next(), [], 'no second entry')

  await api.circle('edit/1', [here[0], north(here[1], 1000)], 100)
  t.strictSame(await next(), ['exited edit/1 3'], 'moved away')
  await api.circle('edit/1', here, 100)
  t.strictSame(await next(), ['entered edit/1 3'], 'moved back')
  await api.circle('edit/1', here, 100, { description: 'New name' })
  t.strictSame(await next(), [], 'an edit keeps the visit')
  t.equal((await call('GET', `/v1/users/${deviceId}`)).body.user.geofences[0].description, 'New name')
  const square = [
    [-1, -1],
    [1, -1],
    [1, 1],
    [-1, 1],
    [-1, -1],
  ].map(([x, y]) => [here[0] + x! / 1000, here[1] + y! / 1000])
  const polygon = { description: 'x', type: 'polygon', coordinates: square }
  t.equal((await call('PUT', '/v1/geofences/edit/1', polygon)).body.geofence._id, _id)
  t.strictSame(await next(), [], 'an edit of its type too')

  await api.circle('edit/1', here, 100, { enabled: false })
  t.equal(await inside(), 0, 'disabled: hidden at once')
  await api.circle('edit/1', here, 100)
  t.strictSame(await next(), [], 'off and on again between two updates leaves no trace')
  await api.circle('edit/1', here, 100, { enabled: false })
  t.strictSame(await next(), [], 'disabled: no event')
  await api.circle('edit/1', here, 100)
  t.equal(await inside(), 0, 'enabled: not inside before the next update')
  t.strictSame(await next(), ['entered edit/1 3'], 'enabled: enters')

  t.equal((await call('DELETE', '/v1/geofences/edit/1')).status, 200)
  t.equal(await inside(), 0, 'deleted: hidden at once')
  t.strictSame(await next(), [], 'deleted: no event')
  const anew = await api.circle('edit/1', here, 100)
  t.not(anew._id, _id)
  t.strictSame(await next(), ['entered edit/1 3'], 'created anew: enters')
  await call('DELETE', `/v1/geofences/${anew._id}`)
  await api.circle('edit/1', here, 100)
  t.strictSame(
    await next(),
    ['entered edit/1 3'],
    'deleted and created anew between two updates is another geofence',
  )
})

t.test('disableAfter and deleteAfter take effect by themselves', async (t) => {
  const here = place()
  const [one, two] = [device(), device()]
  const soon = Date.now() + 1500
  const disabling = await api.circle('dates/disable', here, 100, { disableAfter: iso(soon) })
  const deleting = await api.circle('dates/delete', here, 200, { deleteAfter: iso(soon) })
  t.equal(disabling.disableAfter, iso(soon))
  t.equal(deleting.deleteAfter, iso(soon))
  const entered = (await api.track({ deviceId: one, ...at(here), updatedAt: iso(MONDAY) })).events
  t.equal(entered.length, 2)
  await sleep(soon - Date.now() + 20)
  t.strictSame((await call('GET', `/v1/users/${one}`)).body.user.geofences, [], 'hidden at once')
  t.equal((await call('GET', `/v1/geofences/${deleting._id}`)).status, 404)
  t.equal((await call('GET', `/v1/geofences/${disabling._id}`)).body.geofence.enabled, false)
  const near = `near=${here[1]},${here[0]}&radius=1000`
  t.strictSame((await call('GET', `/v1/search/geofences?${near}`)).body.geofences, [])
  const later = await api.track({ deviceId: one, ...at(here), updatedAt: iso(MONDAY + HOUR) })
  t.strictSame(later.events, [], 'by the server’s time, not the update’s')
  t.strictSame(later.user.geofences, [])
  t.strictSame((await api.track({ deviceId: two, ...at(here), updatedAt: iso(MONDAY) })).events, [])
})

t.test('only for these users', async (t) => {
  const here = place()
  await api.circle('users/list', here, 100, { userIds: 'ann, ben' })
  await api.circle('users/old', here, 100, { userId: 'cid' })
  const enters = async (userId?: string) =>
    briefly((await api.track({ deviceId: device(), ...at(here), userId })).events).join()
  t.equal(await enters('ann'), 'entered users/list 3')
  t.equal(await enters('ben'), 'entered users/list 3')
  t.equal(await enters('cid'), 'entered users/old 3')
  t.equal(await enters('dan'), '')
  t.equal(await enters(), '', 'nobody')
  const deviceId = device()
  const track = async () => (await api.track({ deviceId, ...at(here), userId: 'ann' })).user.geofences.length
  t.equal(await track(), 1)
  await api.circle('users/list', here, 100, { userIds: ['ben'] })
  t.equal(
    (await call('GET', `/v1/users/${deviceId}`)).body.user.geofences.length,
    0,
    'no longer meant: hidden',
  )
  t.equal(await track(), 0, 'and gone, without an event')
})

t.test('stop detection', async (t) => {
  const here = place()
  await api.circle('stop/project', here, 100)
  await api.circle('stop/never', here, 150, { stopDetection: false })
  await api.circle('stop/always', here, 200, { stopDetection: true })
  const enters = async (more: Json = {}) =>
    briefly((await api.track({ deviceId: device(), ...at(here), ...more })).events).sort()
  t.strictSame(await enters(), ['entered stop/never 3', 'entered stop/project 3'])
  await api.settings({ stopDetection: true })
  t.strictSame(await enters(), ['entered stop/never 3'])
  t.equal((await enters({ stopped: true })).length, 3)
  t.equal((await enters({ foreground: true })).length, 3)
  const deviceId = device()
  await api.track({ deviceId, ...at(here) })
  const stops = await api.track({ deviceId, ...at(here), stopped: true })
  t.strictSame(
    briefly(stops.events).sort(),
    ['entered stop/always 3', 'entered stop/project 3'],
    'entry when it stops',
  )
  t.equal((await api.track({ deviceId, ...at(here, 900) })).events.length, 3, 'exits need no stop')
  await api.settings({ stopDetection: false })
})

t.test('buffered entries and exits', async (t) => {
  const here = place()
  await api.circle('buffer/1', here, 100)
  const walk = async (...meters: number[]) => {
    const deviceId = device()
    const seen: string[] = []
    for (const metersNorth of meters) {
      const { events } = await api.track({ deviceId, ...at(here, 100 + metersNorth), accuracy: 30 })
      seen.push(events.map((event: Json) => event.type.slice(5, 12)).join() || '-')
    }
    return seen
  }
  t.strictSame(await walk(20, -20, 20, 40), ['-', 'entered', 'exited_', '-'])
  await api.settings({ bufferExits: true })
  t.strictSame(await walk(20, -20, 20, 40), ['-', 'entered', '-', 'exited_'])
  await api.settings({ bufferExits: false, bufferEntries: true })
  t.strictSame(await walk(40, 20, 25, 40), ['-', 'entered', '-', 'exited_'], 'an exit needs more than A then')
  await api.settings({ bufferEntries: false })
})

t.test('operating hours', async (t) => {
  const london: [number, number] = [-0.1, 51.5]
  const hours = { Monday: [['9:00 AM', '5:00 PM']], tue: [['09:00', '24:00']] }
  await api.circle('hours/1', london, 100, { operatingHours: hours })
  const walk = (deviceId: string) => async (hour: number, metersNorth: number) => {
    const time = iso(MONDAY + hour * HOUR)
    const { events } = await api.track({ deviceId, ...at(london, metersNorth), updatedAt: time })
    return events.map((e: Json) => `${e.type.slice(5, 12)} ${e.currentlyOperating}`).join() || '-'
  }
  const free = walk(device())
  t.equal(await free(8, 0), 'entered false', 'not restricted: an event that says closed')
  t.equal(await free(9, 500), 'exited_ true', 'the open minute is open')
  t.equal(await free(17, 0), 'entered false', 'the close minute is not')
  t.equal(await free(47.9, 500), 'exited_ true', 'until midnight')
  t.equal(await free(48.1, 0), 'entered false', 'a day that is not listed is closed')

  await api.settings({ restrictToOperatingHours: true })
  const deviceId = device()
  const held = walk(deviceId)
  t.equal(await held(8, 0), '-', 'entry waits')
  t.equal(await held(9, 0), 'entered true', 'already there at opening')
  t.equal(await held(18, 0), '-', 'stays inside at closing')
  t.equal(await held(33, 0), '-', 'nothing at reopening')
  t.equal(await held(34, 500), 'exited_ true')
  t.equal(await held(35, 0), 'entered true')
  t.equal(await held(49, 500), '-', 'an exit while closed is silent')
  t.equal((await call('GET', `/v1/users/${deviceId}`)).body.user.geofences.length, 0, 'but moves the state')
  await api.settings({ restrictToOperatingHours: false })
})

t.test('dwell', async (t) => {
  const here = place()
  await api.circle('dwell/own', here, 100, { dwellThreshold: 10 })
  await api.circle('dwell/project', here, 200)
  const walk =
    (deviceId: string) =>
    async (minutes: number, metersNorth = 0) =>
      briefly(
        (await api.track({ deviceId, ...at(here, metersNorth), updatedAt: iso(MONDAY + minutes * MINUTE) }))
          .events,
      ).filter((text) => !text.startsWith('entered'))
  const off = walk(device())
  await off(0)
  t.strictSame(await off(1000), [], 'dwell events are off')

  await api.settings({ dwellEvents: true })
  const own = walk(device())
  await own(0)
  t.strictSame(await own(10), [], 'not longer than the threshold')
  t.strictSame(await own(10.01), ['dwelled dwell/own 3'])
  t.strictSame(await own(100), [], 'once in a visit; the other has no threshold')
  t.equal((await own(110, 900)).length, 2)
  await own(120)
  t.strictSame(await own(131), ['dwelled dwell/own 3'], 'again in the next visit')

  await api.settings({ dwellThreshold: 30 })
  const both = walk(device())
  await both(0)
  t.strictSame((await both(31)).sort(), ['dwelled dwell/own 3', 'dwelled dwell/project 3'])
  await api.settings({ dwellThreshold: null, dwellEvents: false })
})

t.test('minimumConfidence', async (t) => {
  const here = place()
  await api.circle('least/1', here, 100)
  await api.settings({ minimumConfidence: 3 })
  const deviceId = device()
  const next = async (metersNorth: number, accuracy: number) =>
    briefly((await api.track({ deviceId, ...at(here, metersNorth), accuracy })).events).join()
  t.equal(await next(0, 120), '', 'medium is not enough')
  t.equal(await next(0, 50), 'entered least/1 3')
  t.equal(await next(150, 60), '', 'the exit is held back too')
  t.equal((await call('GET', `/v1/users/${deviceId}`)).body.user.geofences.length, 1, 'the state stays')
  t.equal(await next(150, 40), 'exited least/1 3')
  await api.settings({ minimumConfidence: 1 })
})

t.test('maxAccuracyMeters', async (t) => {
  const here = place()
  await api.circle('worst/1', here, 100)
  await api.settings({ maxAccuracyMeters: 50 })
  const deviceId = device()
  const next = async (metersNorth: number, accuracy: number) =>
    api.track({ deviceId, ...at(here, metersNorth), accuracy })
  t.strictSame((await next(0, 51)).events, [], 'worse touches no geofence')
  t.equal((await next(0, 50)).events.length, 1)
  const far = await next(5000, 51)
  t.strictSame(far.events, [])
  t.equal(far.user.geofences.length, 1)
  t.equal(far.user.location.coordinates[1], north(here[1], 5000), 'but moves the device')
  t.equal((await next(5000, 50)).events.length, 1)
  await api.settings({ maxAccuracyMeters: null })
  t.equal((await next(0, 1e6)).events.length, 1, 'no bound any more')
})

t.test('exits come before entries', async (t) => {
  const here = place()
  const there: [number, number] = [here[0], north(here[1], 1000)]
  for (const i of [1, 2, 3]) {
    await api.circle(`order/a${i}`, here, 100 + i)
    await api.circle(`order/b${i}`, there, 100 + i)
  }
  const deviceId = device()
  await api.track({ deviceId, ...at(here) })
  const { events, user } = await api.track({ deviceId, ...at(there) })
  t.strictSame(
    events.map((event: Json) => event.type.slice(5, 11)),
    [...Array(3).fill('exited'), ...Array(3).fill('entere')],
  )
  t.strictSame(user.geofences.map((g: Json) => g.externalId).sort(), ['b1', 'b2', 'b3'])
  t.equal(new Set(events.map((event: Json) => event._id)).size, 6, 'ids of their own')
})
