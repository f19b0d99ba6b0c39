/** The registry that several processes share, over real NATS servers. */
import t from 'tap'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer } from '../kit/nats.ts'
import { circle, contentsOf, openReplica, SCOPE, streamOn, until } from './replicatedKit.ts'

const skip = await skipWithout(NATS_SERVER)

t.test('what one process edits the others have', { skip }, async (t) => {
  const server = await natsServer(t)
  const a = await openReplica(t, streamOn(t, server))
  const b = await openReplica(t, streamOn(t, server))
  const keys = (await a.edit(() => a.createFirstProject()))!
  await until(() => b.revision === a.revision)
  t.equal(await b.edit(() => b.createFirstProject()), undefined)
  t.match(b.keys.authenticate(keys.testSecret), { scope: SCOPE })
  const { geofence } = await a.edit(() => a.putGeofence(SCOPE, circle('1')))
  t.strictSame(
    a.scope(SCOPE).withShape(a.scope(SCOPE).geofence(geofence.id)!),
    geofence,
    'reads its own writes',
  )
  await until(() => b.revision === a.revision)
  t.strictSame(contentsOf(b), contentsOf(a))
  console.log(a.revision)
})
