/**
 * Every hand-written reader takes time in proportion to its input (issue 12, 1). A real server is sent hostile input
 * of growing length through every endpoint, and its processor time is compared.
 */
import t from 'tap'
import { startServer } from '../kit/server.ts'
import { ATTACKS } from './attacks.ts'
import { growthOf } from './growth.ts'

/** Other work of the server, such as reporting its processor time, takes some milliseconds. */
const LEAST_MS = 5
const GEOFENCES = 1000

const server = await startServer(t, { env: { RINGFENCE_TRUSTED_PROXIES: '127.0.0.1' } })

async function processorMs(): Promise<number> {
  const { body } = await server.api('GET', '/metrics', undefined, null)
  return 1000 * Number(/^ringfence_cpu_seconds_total (\S+)$/m.exec(body)![1])
}

t.test('records to be searched', async (t) => {
  // Imported as a file, because there are many. Work that a request repeats for each of them becomes visible.
  const rows = Array.from({ length: GEOFENCES }, (_, i) => `x,circle,some,${i},"[1,1]",100,${i}`)
  const file = `description,type,tag,externalId,coordinates,radius,metadata.size\n${rows.join('\n')}\n`
  const { body } = await server.api('POST', '/v1/imports/geofences', file, undefined, {
    'content-type': 'text/csv',
  })
  t.equal(body.import.created, GEOFENCES)
})

for (const { name, size, send } of ATTACKS) {
  t.test(name, async (t) => {
    const cost = async (n: number) => {
      const before = await processorMs()
      const status = await send(server, n)
      const ms = (await processorMs()) - before
      t.notOk(status === 431 || status >= 500, `${status} of ${n} characters`)
      return ms
    }
    const { small, large, isLinear } = await growthOf(cost, size, LEAST_MS)
    t.ok(isLinear, `${large.toFixed(1)} ms of ${size} characters, ${small.toFixed(1)} ms of an eighth`)
  })
}
