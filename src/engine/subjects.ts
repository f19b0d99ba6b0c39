/** Of the questions about users: every host that has partitions listens. */
export const usersSubject = 'ringfence.users'

/** Of the management of webhooks: the process that delivers to them listens. */
export const webhooksSubject = 'ringfence.webhooks'

/** Of what changes devices of a partition: its owner listens. */
export function partitionSubject(partition: number): string {
  return `ringfence.partition.${partition}`
}
