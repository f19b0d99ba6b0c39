/** Faults of hosts with partitions. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Kvm } from '@nats-io/kv'
import type { Member } from '../../cluster/member.ts'
import type { Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'

/** A host that has not reported for this long counts as gone. */
const HOST_TTL_MS = 4000
const MINUTE_MS = 60_000

export const ownerKilled: Scenario = {
  name: 'owner-killed',
  story: 'An owner of partitions is killed, and comes back.',
  isDrawn: true,
  async play(stage) {
    const [owner] = stage.actors
    await stage.happens('actors-1 is killed', () => stage.kills(owner!))
    await stage.returns(owner!)
    await stage.settled()
  },
}

export const ownersKilled: Scenario = {
  name: 'owners-killed',
  story: 'All owners are killed at once, and come back.',
  isDrawn: true,
  async play(stage) {
    await stage.happens('all actors are killed, and started', async () => {
      await stage.kills(...stage.actors)
      await Promise.all(stage.actors.map((member) => stage.returns(member)))
    })
    await stage.settled()
  },
}

export const ownersGone: Scenario = {
  name: 'owners-gone',
  story: 'All owners are killed, and come back when gateways have given up waiting for them.',
  isDrawn: false,
  async play(stage) {
    const { counts } = stage.load
    await stage.happens('all actors are killed, and started after 13 s', async () => {
      await stage.kills(...stage.actors)
      // Earlier answers may still be on their way.
      await sleep(1000)
      const before = { ...counts }
      await sleep(12_000)
      if (counts.refused === before.refused)
        stage.fault('G7 nobody was refused although nobody owns a partition')
      if (counts.updates > before.updates)
        stage.fault(`G1 ${counts.updates - before.updates} updates were acknowledged by nobody`)
      await Promise.all(stage.actors.map((member) => stage.returns(member)))
    })
    await stage.settled()
  },
}

export const ownerFrozen: Scenario = {
  name: 'owner-frozen',
  story: 'An owner is suspended for 30 s, while another takes its partitions, and then resumes.',
  isDrawn: false,
  play: (stage) => freeze(stage, stage.actors[0]!, 30_000),
}

export const ownersFrozenInTurn: Scenario = {
  name: 'owners-doze',
  story: 'Owners are suspended in turn, each just long enough for another to take its partitions.',
  isDrawn: true,
  async play(stage) {
    for (const owner of stage.actors) await freeze(stage, owner, HOST_TTL_MS + stage.random.integer(0, 2000))
  },
}

/**
 * When the host wakes up, it finds what it had received and what clients requested meanwhile. It must not commit any
 * of that (G4).
 */
async function freeze(stage: Stage, owner: Member, milliseconds: number): Promise<void> {
  const { name } = owner.options
  const from = owner.output.length
  owner.signal('SIGSTOP')
  const woken = sleep(milliseconds).then(() => owner.signal('SIGCONT'))
  await stage.happens(`${name} stands still for ${(milliseconds / 1000).toFixed(1)} s`, () => {})
  await woken
  await stage.happens(`${name} goes on`, () => stage.settled())
  const lost = new Set(owner.output.slice(from).match(/The stream P\d+ did not take/g))
  stage.say(`${name} wanted to commit to ${lost.size} partitions that were another's, and could not`)
}

export const twoOwners: Scenario = {
  name: 'two-owners',
  story: 'Hosts do not see each other any more: for 6 s each believes that all partitions are its own.',
  isDrawn: true,
  async play(stage) {
    const hosts = await new Kvm(stage.streams.connection).open('ringfence-hosts')
    const from = stage.actors.map((owner) => owner.output.length)
    // Read once: each reading leaves a consumer at the server for five minutes.
    const names: string[] = []
    for await (const name of await hosts.keys()) names.push(name)
    await stage.happens('the hosts are made to rob each other', async () => {
      for (const until = performance.now() + 6000; performance.now() < until; await sleep(50))
        for (const name of names) await hosts.delete(name)
    })
    await stage.settled()
    const robbed = stage.actors.map(
      (owner, i) => owner.output.slice(from[i]).split('another host has taken over the partition').length - 1,
    )
    stage.say(`the logs refused the one ${robbed[0]} times, the other ${robbed[1]} times`)
    if (Math.min(...robbed) === 0) stage.fault('the hosts did not rob each other: nothing was tried')
  },
}

export const clockOff: Scenario = {
  name: 'clock-off',
  story: 'The clock of one machine, with a gateway and a host, is 10 minutes ahead, then 10 minutes behind.',
  isDrawn: false,
  async play(stage) {
    const machine = [stage.actors[0]!, stage.gateways[0]!]
    for (const minutes of [10, -10]) {
      for (const member of machine)
        await stage.happens(
          `${member.options.name} is restarted with its clock off by ${minutes} minutes`,
          async () => {
            await stage.ends(member)
            await stage.returns(member, {
              NODE_OPTIONS: `--import ${import.meta.resolve('./clockShift.ts')}`,
              CLOCK_SHIFT_MS: String(minutes * MINUTE_MS),
            })
          },
        )
      await stage.settled()
      await sleep(2000)
      const aside = Date.now() + minutes * MINUTE_MS
      let found = 0
      await stage.streams.readEvents(
        ({ actualCreatedAt: at }) => {
          if (Math.abs(Date.parse(at) - aside) < MINUTE_MS) found++
        },
        (sentence) => stage.fault(sentence),
      )
      if (found === 0) stage.fault('no event has the time of that clock: nothing was tried')
      stage.say(`${found} events have the time of that clock`)
    }
  },
}
