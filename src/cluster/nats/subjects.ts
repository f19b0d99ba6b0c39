/** The subject of questions about users. Every host with partitions listens. */
export const usersSubject = 'ringfence.users'

/** The subject of questions about trips. Every host with partitions listens. */
export const tripsSubject = 'ringfence.trips'

/** The subject of questions about who is in an area. Every host with partitions listens. */
export const lookSubject = 'ringfence.look'

/**
 * The subject of gateways' requests for positions. Every host with partitions listens, and answers again and again.
 */
export const positionsSubject = 'ringfence.positions'

/** The subject of questions about imports. Every process with map regions listens. */
export const importsSubject = 'ringfence.imports'

/** The subject of requests that manage webhooks. The process that delivers them listens. */
export const webhooksSubject = 'ringfence.webhooks'

/** The subject of questions about the tickets that a gateway has given out. That gateway listens. */
export function ticketsSubject(gateway: string): string {
  return `ringfence.tickets.${gateway}`
}

/** The subject of questions about how many updates came. Every gateway listens. */
export const countsSubject = 'ringfence.counts'

/**
 * The subject of questions about what an update of a partition's device has done to trips. The partition's owner
 * listens.
 */
export function outcomeSubject(partition: number): string {
  return `ringfence.outcome.${partition}`
}

/**
 * The subject of results of updates that are too large for a reply. The process that keeps them listens. It is below
 * the subject of outcomes, which every process may use.
 */
export function resultsSubject(process: string): string {
  return `ringfence.outcome.${process}`
}

/** The subject of changes to the devices of a partition. Its owner listens. */
export function ownerSubject(partition: number): string {
  return `ringfence.partition.${partition}`
}
