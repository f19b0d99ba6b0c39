/**
 * The drift of a line through the points over their time, and how much they vary around it (5th to 95th percentile).
 */
export function drift(
  seconds: readonly number[],
  values: readonly number[],
): { drift: number; spread: number } {
  const meanX = seconds.reduce((sum, x) => sum + x, 0) / seconds.length
  const meanY = values.reduce((sum, y) => sum + y, 0) / values.length
  let xy = 0
  let xx = 0
  for (const [i, x] of seconds.entries()) {
    xy += (x - meanX) * (values[i]! - meanY)
    xx += (x - meanX) ** 2
  }
  const slope = xx === 0 ? 0 : xy / xx
  const rest = values.map((y, i) => y - meanY - slope * (seconds[i]! - meanX)).toSorted((a, b) => a - b)
  const at = (share: number) => rest[Math.round(share * (rest.length - 1))]!
  return { drift: slope * (seconds.at(-1)! - seconds[0]!), spread: at(0.95) - at(0.05) }
}
