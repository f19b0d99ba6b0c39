/**
 * Two gateways with different imports, as real processes with a real NATS server: each answers from its own, and /readyz of
 * each states them and warns, until all have the same. The fast test with simulated messages is comparedImports.test.ts.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Cluster } from '../../cluster/cluster.ts'
import type { Member } from '../../cluster/member.ts'
import { region } from '../geodata/kit.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { KEYS } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'

const skip = await skipWithout(NATS_SERVER)
const HOUSES = `LON,LAT,NUMBER,STREET,UNIT,CITY,DISTRICT,REGION,POSTCODE,ID,HASH
-73.9866,40.7025,20,Jay Street,,Brooklyn,Kings,NY,11201,,
-73.9865,40.7031,24,Jay Street,,Brooklyn,Kings,NY,11201,,
`
const WARNING = /; warning: not the same in all processes: brooklyn \S+; the log says in which$/

t.test('a region that one gateway has and another lacks', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-imports-'))
  let cluster: Cluster | undefined
  t.teardown(async () => {
    await cluster?.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  const houses = join(folder, 'brooklyn.csv')
  writeFileSync(houses, HOUSES)
  cluster = await Cluster.start({
    folder,
    nats: 1,
    gateways: 2,
    actors: 1,
    deliveries: 0,
    env: { RINGFENCE_KEYS: Object.values(KEYS).join(','), RINGFENCE_PARTITIONS: '8' },
  })
  const { gateways, actors } = cluster
  const [first, second] = gateways as [Member, Member]
  const importInto = async ({ options: { name } }: Member): Promise<void> => {
    const { code, output } = await region('add-addresses', houses, '--data', join(folder, name))
    t.equal(code, 0, output)
  }
  await until(async () => (await importsOf(first)).endsWith('; the same in 2 other processes'))
  t.equal(await importsOf(first), 'none; the same in 2 other processes')

  await importInto(first)
  await until(async () => WARNING.test(await importsOf(first)) && WARNING.test(await importsOf(second)))
  t.match(await importsOf(first), /^brooklyn \S+; warning/)
  t.match(await importsOf(second), /^none; warning/)
  t.strictSame([await confidenceAt(first), await confidenceAt(second)], ['exact', 'fallback'])
  await until(() =>
    [first, second].every(({ output }) => /"msg":"other processes have other regions/.test(output)),
  )
  t.match(first.output, /"lacks":\["brooklyn [^"]+"\],"hasBesides":\[\]/)
  t.match(second.output, /"lacks":\[\],"hasBesides":\["brooklyn [^"]+"\]/)

  await importInto(second)
  for (const owner of actors) await importInto(owner)
  for (const gateway of gateways) {
    await until(async () => (await importsOf(gateway)).endsWith('; the same in 2 other processes'))
    t.match(await importsOf(gateway), /^brooklyn \S+; the same/)
    t.equal(await confidenceAt(gateway), 'exact')
  }
  t.strictSame(await cluster.stop(), [])
})

/** What /readyz says of the imports. The process is ready whatever others have. */
async function importsOf({ options: { url } }: Member): Promise<string> {
  const answer = await fetch(`${url}/readyz`)
  const { checks } = (await answer.json()) as {
    checks: { name: string; ok: boolean; detail: string }[]
  }
  const { ok, detail } = checks.find(({ name }) => name === 'imports')!
  if (answer.status !== 200 || !ok) throw new Error(`/readyz was answered ${answer.status}: ${detail}`)
  return detail
}

async function confidenceAt({ options: { url } }: Member): Promise<string | undefined> {
  const answer = await fetch(`${url}/v1/geocode/forward?query=20+Jay+Street,+Brooklyn+NY`, {
    headers: { authorization: KEYS.testPublishable },
  })
  const { addresses } = (await answer.json()) as { addresses?: { confidence: string }[] }
  return addresses?.[0]?.confidence
}
