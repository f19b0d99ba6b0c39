/** What a gateway puts into its requests to the owner of a partition. */
import { Senders } from '../../src/wire/senders.ts'
import t from 'tap'
import type { Calls } from '../../src/cluster/nats/calls.ts'
import { decodeRequest, encodeReply } from '../../src/cluster/protocol/partitionProtocol.ts'
import { Engine, HERE } from '../actor/kit.ts'
import { fixedWorld, gatewayOf, track } from './kit.ts'

t.test('updates of a backlog come last in a request, and only as many as keep it short', async (t) => {
  // The gateway's clock, so that the duration of a request depends on nothing else.
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const engine = new Engine()
  const requests: { readonly others: number; readonly behind: number }[] = []
  const waiting: (() => void)[] = []
  const calls: Calls = {
    async ask(_subject, question) {
      const { updates } = decodeRequest(question, () => undefined, SENDERS)
      const devices = updates.map(({ deviceId }) => deviceId)
      const others = devices.findIndex((id) => id.startsWith('behind'))
      requests.push({
        others: others < 0 ? devices.length : others,
        behind: devices.filter((id) => id.startsWith('behind')).length,
      })
      t.ok(others < 0 || devices.slice(others).every((id) => id.startsWith('behind')), devices.join())
      await new Promise<void>((resolve) => waiting.push(resolve))
      return encodeReply({ updates: updates.map(() => 0), commands: [] })
    },
    askAll: () => ({ send() {}, end() {} }),
    serve: () => ({ async stop() {} }),
  }
  const gateway = gatewayOf(calls, fixedWorld(), { partitions: 1, pause: nextTurn })
  const send = (deviceId: string, isBehind: boolean) =>
    track(gateway, engine.update({ deviceId, ...HERE }), { isBehind, wantsUser: false, wantsEvents: false })
  const answered: Promise<unknown>[] = []
  /** Answers the request in flight after this time. Three updates of others join the next request. */
  const answer = async (milliseconds: number) => {
    while (waiting.length === 0) await nextTurn()
    for (let i = 0; i < 3; i++) answered.push(send(`other-${answered.length}`, false))
    now += milliseconds
    waiting.shift()!()
  }
  for (let i = 0; i < 200; i++) answered.push(send(`behind-${i}`, true))
  for (let i = 0; i < 5; i++) await answer(5)
  for (let i = 0; i < 5; i++) await answer(100)
  while (waiting.length === 0) await nextTurn()
  t.strictSame(
    requests.map(({ behind }) => behind),
    [1, 2, 4, 8, 16, 32, 16, 8, 4, 2, 1],
  )
  t.strictSame(
    requests.slice(1).map(({ others }) => others),
    requests.slice(1).map(() => 3),
  )
  const end = setInterval(() => waiting.shift()?.(), 1)
  await Promise.all(answered)
  clearInterval(end)
})

const SENDERS = new Senders()
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
