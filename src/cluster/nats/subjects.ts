/** Of the questions about users: every host that has partitions listens. */
export const usersSubject = 'ringfence.users'

/** Of who is in an area: every host that has partitions listens. */
export const lookSubject = 'ringfence.look'

/** Of gateways that want to be told of positions: every host that has partitions listens, and answers again and again. */
export const positionsSubject = 'ringfence.positions'

/** Of the management of webhooks: the process that delivers to them listens. */
export const webhooksSubject = 'ringfence.webhooks'

/** Of what changes devices of a partition: its owner listens. */
export function ownerSubject(partition: number): string {
  return `ringfence.partition.${partition}`
}
