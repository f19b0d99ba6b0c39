/**
 * Puts what comes first last. Of those that fill in turn what a slow reader has made room for, the first may take all of it: so
 * the next time another one is the first.
 */
export function letAnotherBegin<K, V>(map: Map<K, V>): void {
  const [first] = map
  if (first === undefined || map.size === 1) return
  map.delete(first[0])
  map.set(...first)
}
