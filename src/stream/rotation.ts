/**
 * Puts the first entry last. Of those that fill in turn what a slow reader has made room for, the first may take all of it, so
 * each time another one is to be the first.
 */
export function rotate<K, V>(map: Map<K, V>): void {
  const [first] = map
  if (first === undefined || map.size === 1) return
  map.delete(first[0])
  map.set(...first)
}
