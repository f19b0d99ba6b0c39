/** What happens to hosts with partitions. */
import type { Scenario } from './scenario.ts'

export const ownerKilled: Scenario = {
  name: 'owner-killed',
  story: 'An owner of partitions is killed, and comes back.',
  isDrawn: true,
  async play(stage) {
    const [first] = stage.actors
    await stage.happens('actors-1 is killed', () => first!.end('SIGKILL'))
    await stage.happens('actors-1 comes back', () => stage.returns(first!))
  },
}

export const ownersKilled: Scenario = {
  name: 'owners-killed',
  story: 'All owners are killed at once, and come back.',
  isDrawn: true,
  async play(stage) {
    await stage.happens('all actors are killed, and started', async () => {
      await Promise.all(stage.actors.map((member) => member.end('SIGKILL')))
      await Promise.all(stage.actors.map((member) => stage.returns(member)))
    })
  },
}
