/** Fields of an update that scanners know, as bits. */
export const FIELD = {
  deviceId: 1 << 0,
  latitude: 1 << 1,
  longitude: 1 << 2,
  accuracy: 1 << 3,
  userId: 1 << 4,
  foreground: 1 << 5,
  stopped: 1 << 6,
  updatedAt: 1 << 7,
  stream: 1 << 8,
  sequence: 1 << 9,
  installId: 1 << 10,
  deviceType: 1 << 11,
  deviceOS: 1 << 12,
  deviceMake: 1 << 13,
  deviceModel: 1 << 14,
  sdkVersion: 1 << 15,
} as const
