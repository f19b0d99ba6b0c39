/** Questions about users: every host with partitions listens. */
export const usersSubject = 'ringfence.users'

/** Questions about trips: every host with partitions listens. */
export const tripsSubject = 'ringfence.trips'

/** Questions about who is in an area: every host with partitions listens. */
export const lookSubject = 'ringfence.look'

/** Requests of gateways for positions: every host with partitions listens, and answers again and again. */
export const positionsSubject = 'ringfence.positions'

/** What processes have imported: each with map regions listens. */
export const importsSubject = 'ringfence.imports'

/** The management of webhooks: the process that delivers them listens. */
export const webhooksSubject = 'ringfence.webhooks'

/** Tickets that a gateway has given out: it listens. */
export function ticketsSubject(gateway: string): string {
  return `ringfence.tickets.${gateway}`
}

/** Questions about how many updates came: every gateway listens. */
export const countsSubject = 'ringfence.counts'

/** Questions about what an update of a partition's device has done to trips: its owner listens. */
export function outcomeSubject(partition: number): string {
  return `ringfence.outcome.${partition}`
}

/** Changes to devices of a partition: its owner listens. */
export function ownerSubject(partition: number): string {
  return `ringfence.partition.${partition}`
}
