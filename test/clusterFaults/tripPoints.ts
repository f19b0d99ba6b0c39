/** Processes end at each of the points between an update and its trips. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Member } from '../../cluster/member.ts'
import type { HttpAnswer } from '../kit/server.ts'
import type { Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'

/** Where an owner of partitions may end: see endAt.ts. */
export const OWNER_POINTS = [
  'the update is not committed',
  'the row is not sent',
  'the way is asked for',
  'the way is measured',
  'the trip is not committed',
  'the trip is committed, and the answer lost',
  'the device has not noted it',
  'the device has noted it',
  'the name is reserved, and the trip not made',
] as const
/** Each of them is often reached in a second. */
const MOST_TIMES = 8
const GIVE_UP_MS = 60_000
const LOOK_AGAIN_MS = 50

/** The environment of a process that ends at a point. */
function endingAt(point: string, times: number): Readonly<Record<string, string>> {
  return {
    NODE_OPTIONS: `--import ${import.meta.resolve('./endAt.ts')}`,
    END_AT: point,
    END_AFTER: String(times),
  }
}

export const tripOwnerEnds: Scenario = {
  name: 'trip-owner-ends',
  story: 'An owner is killed at each point between an update and its trips; another one continues.',
  isDrawn: false,
  async play(stage) {
    const owner = stage.actors[0]!
    await stage.ends(owner)
    for (const point of OWNER_POINTS) {
      await stage.happens(`${owner.options.name} ends where ${point}`, async () => {
        owner.start(endingAt(point, stage.random.integer(1, MOST_TIMES)))
        await gone(stage, owner, point)
      })
    }
    await stage.returns(owner)
    await stage.settled()
  },
}

export const tripCallLost: Scenario = {
  name: 'trip-call-lost',
  story: 'A gateway is killed during a call on a trip, and the client repeats the call at another gateway.',
  isDrawn: false,
  async play(stage) {
    const [gateway] = stage.gateways
    const restarted = async (point: string) => {
      await stage.ends(gateway!)
      await stage.returns(gateway!, endingAt(point, 1))
    }
    await stage.happens('gateway-1 ends where the name is reserved, and the trip not made', async () => {
      await restarted('the name is reserved, and the trip not made')
      const body = { externalId: 'called', metadata: { a: 1 } }
      await lost(stage, () => stage.call(0, 'POST', 'trips', body))
      await gone(stage, gateway!, 'POST')
      const { trip, events } = good(stage, await stage.call(1, 'POST', 'trips', body))
      const { trips } = good(stage, await stage.call(1, 'GET', 'trips?externalId=called'))
      if (trips.length !== 1 || trips[0]._id !== trip._id || events.length > 0)
        stage.fault(`T1 POST that was repeated made ${JSON.stringify(trips)}, and ${JSON.stringify(events)}`)
      await stage.returns(gateway!)
    })
    await stage.happens('gateway-1 ends where PATCH is committed, and the answer lost', async () => {
      await restarted('PATCH is committed, and the answer lost')
      const path = 'trips/called/update'
      await lost(stage, () => stage.call(0, 'PATCH', path, { status: 'started' }))
      await gone(stage, gateway!, 'PATCH')
      const { trip, events } = good(stage, await stage.call(1, 'PATCH', path, { status: 'started' }))
      if (trip.status !== 'started' || events.length > 0)
        stage.fault(`T1 PATCH that was repeated is answered ${trip.status} and ${JSON.stringify(events)}`)
      await stage.returns(gateway!)
    })
  },
}

/** Waits until the process has ended by itself. */
async function gone(stage: Stage, member: Member, point: string): Promise<void> {
  const until = performance.now() + GIVE_UP_MS
  for (; member.isRunning; await sleep(LOOK_AGAIN_MS))
    if (performance.now() > until) throw new Error(`${member.options.name} never came to: ${point}`)
  stage.say(`${member.options.name} has ended`)
}

async function lost(stage: Stage, call: () => Promise<HttpAnswer>): Promise<void> {
  const answer = await call().catch(() => undefined)
  if (answer !== undefined) stage.fault(`nothing was lost: ${answer.status} ${JSON.stringify(answer.body)}`)
}

function good(stage: Stage, { status, body }: HttpAnswer): HttpAnswer['body'] {
  if (status !== 200) stage.fault(`a call is answered ${status} ${JSON.stringify(body)}`)
  return body
}
