/**
 * Finds the order of stops with the least total time. It is exact: it computes the best way to each stop over each set
 * of earlier stops (Held and Karp, 1962). With eight stops between the ends there are 1,024 such ways.
 * @param seconds from each location to each location; Infinity if there is no way. The first location stays first, and
 * the last one stays last
 * @returns the indexes of the locations in that order; undefined if no order has a way
 */
export function quickestOrder(seconds: readonly (readonly number[])[]): number[] | undefined {
  const last = seconds.length - 1
  const stops = last - 1
  if (stops < 1) return seconds[0]![last]! < Infinity ? [0, last] : undefined
  const sets = 1 << stops
  // For each set of stops and last stop: the least time, and the stop before the last.
  const least = new Float64Array(sets * stops).fill(Infinity)
  const before = new Int8Array(sets * stops).fill(-1)
  for (let stop = 0; stop < stops; stop++) least[(1 << stop) * stops + stop] = seconds[0]![stop + 1]!
  for (let set = 1; set < sets; set++) {
    for (let end = 0; end < stops; end++) {
      const time = least[set * stops + end]!
      if (time === Infinity) continue
      for (let next = 0; next < stops; next++) {
        if ((set & (1 << next)) !== 0) continue
        const at = (set | (1 << next)) * stops + next
        const later = time + seconds[end + 1]![next + 1]!
        if (later >= least[at]!) continue
        least[at] = later
        before[at] = end
      }
    }
  }
  let end = -1
  let best = Infinity
  for (let stop = 0; stop < stops; stop++) {
    const time = least[(sets - 1) * stops + stop]! + seconds[stop + 1]![last]!
    if (time < best) [best, end] = [time, stop]
  }
  if (end < 0) return undefined
  const order = [last]
  for (let set = sets - 1; end >= 0;) {
    order.push(end + 1)
    const previous = before[set * stops + end]!
    set &= ~(1 << end)
    end = previous
  }
  return [...order, 0].toReversed()
}
