/**
 * The fault suite, `npm run test:faults`: processes of the distributed engine on real servers, under load, to which something
 * happens; then everything that clients were told is compared with what is there (comparison.ts, G1 to G10 of the protocol).
 *
 * How to add a scenario: write it into a file of its kind (owners.ts, …) and name it in scenarios.ts. Its `play` finds the
 * cluster running and the load under way for a while, and does to the processes what it wants:
 *
 *     export const ownerKilled: Scenario = {
 *       name: 'owner-killed',
 *       story: 'An owner of partitions is killed, and comes back.',
 *       isDrawn: true,
 *       async play(stage) {
 *         await stage.happens('actors-1 is killed', () => stage.kills(stage.actors[0]))
 *         await stage.returns(stage.actors[0])
 *       },
 *     }
 *
 * `happens` goes on once each device was acknowledged anew, and notes how long that took. What breaks a rule besides goes to
 * `stage.fault('G4 …')`. When `play` ends everything that runs must be ready; the load goes on for a moment, ends, and is
 * compared. `member.start({ … })` starts a process with other settings than the rest, e.g. RINGFENCE_NATS_URL of a proxy.
 */
import type { ClusterOptions } from '../../cluster/cluster.ts'
import type { Stage } from './stage.ts'

export interface Scenario {
  /** What `npm run test:faults -- NAME` runs. */
  readonly name: string
  /** What happens, in a sentence. */
  readonly story: string
  /** Whether CI may draw it: one that takes less than half a minute. */
  readonly isDrawn: boolean
  /** Beside one NATS server, two gateways, two hosts with partitions and one that delivers. */
  readonly cluster?: Partial<Pick<ClusterOptions, 'nats' | 'gateways' | 'actors' | 'deliveries' | 'tile38'>>
  /** Of all processes of Ringfence, beside the suite's. */
  readonly env?: Readonly<Record<string, string>>
  play(stage: Stage): Promise<void>
}
