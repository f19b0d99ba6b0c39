/** For an even number of values, the mean of the two in the middle; for none, NaN. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2
}

/** The value below which that share of the others lies. `sorted` is in ascending order. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
}

export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

/** For readers: a whole number with separators. */
export function thousands(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}
