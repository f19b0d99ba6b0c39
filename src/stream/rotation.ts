/**
 * Moves the first entry to the end. Several features fill the room that a slow reader has made, and the first of them
 * may take all of it, so each should be the first in turn.
 */
export function rotate<K, V>(map: Map<K, V>): void {
  const [first] = map
  if (first === undefined || map.size === 1) return
  map.delete(first[0])
  map.set(...first)
}
