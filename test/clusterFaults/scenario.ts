/**
 * The fault suite, `npm run test:faults`: it runs the processes of the distributed engine on real servers, under
 * load, and causes a fault. Then everything that clients were told is compared with what is stored (comparison.ts, G1
 * to G10 of the protocol).
 *
 * How to add a scenario: write it into the file of its kind (owners.ts, …) and add it to the list in scenarios.ts.
 * Its `play` is called when the cluster has been running under load for a while, and does anything to the processes:
 *
 * export const ownerKilled: Scenario = {
 * name: 'owner-killed',
 * story: 'An owner of partitions is killed, and comes back.',
 * isDrawn: true,
 * async play(stage) {
 * await stage.happens('actors-1 is killed', () => stage.kills(stage.actors[0]))
 * await stage.returns(stage.actors[0])
 * },
 * }
 *
 * `happens` resolves once each device has received a new acknowledgement, and records how long that took. Report
 * anything else that breaks a rule with `stage.fault('G4 …')`. When `play` ends, all running processes must be ready.
 * The load continues for a moment and ends, and then the results are compared. `member.start({ … })` starts a process
 * with other settings than the rest, e.g. RINGFENCE_NATS_URL of a proxy.
 */
import type { ClusterOptions } from '../../cluster/cluster.ts'
import type { Stage } from './stage.ts'

export interface Scenario {
  /** The name in `npm run test:faults -- NAME`. */
  readonly name: string
  /** What happens, in a sentence. */
  readonly story: string
  /** Whether CI may choose it at random. Only for scenarios that take less than half a minute. */
  readonly isDrawn: boolean
  /** Processes besides one NATS server, two gateways, two hosts with partitions and one that delivers. */
  readonly cluster?: Partial<Pick<ClusterOptions, 'nats' | 'gateways' | 'actors' | 'deliveries' | 'tile38'>>
  /** Environment variables for all Ringfence processes, in addition to those of the suite. */
  readonly env?: Readonly<Record<string, string>>
  play(stage: Stage): Promise<void>
}
