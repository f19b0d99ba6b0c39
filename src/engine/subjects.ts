/** Of the questions about users: every host that has partitions listens. */
export const usersSubject = 'ringfence.users'

/** Of what changes devices of a partition: its owner listens. */
export function partitionSubject(partition: number): string {
  return `ringfence.partition.${partition}`
}
