/**
 * Rendezvous hashing: a partition belongs to the host with the highest score. All hosts that know the same hosts agree
 * without communicating, and a host that joins or leaves only moves its own share.
 * @param hosts names, in any order
 */
export function ownerAmong(hosts: Iterable<string>, partition: number): string | undefined {
  let owner: string | undefined
  let highest = -1
  for (const host of hosts) {
    const score = scoreOf(host, partition)
    // If two hosts have the same score, which no seed prevents, the name decides.
    if (score > highest || (score === highest && host < owner!)) {
      owner = host
      highest = score
    }
  }
  return owner
}

/**
 * FNV-1a over the name and the number, then mixed (the finalizer of MurmurHash3), because its high bits depend little
 * on the end.
 */
function scoreOf(host: string, partition: number): number {
  let hash = 0x811c9dc5
  for (const sign of `${host} ${partition}`) hash = Math.imul(hash ^ sign.charCodeAt(0), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
