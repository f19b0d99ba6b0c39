/**
 * FNV-1a over the UTF-16 units of a device's id, 32 bits, unsigned. It decides the device's partition, so it must
 * never change.
 */
export function deviceHash(deviceId: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < deviceId.length; i++) hash = Math.imul(hash ^ deviceId.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
