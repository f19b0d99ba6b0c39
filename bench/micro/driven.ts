import type { Update } from '../../src/model/update.ts'
import type { Driver } from '../../src/simulation/streets.ts'

/**
 * What a device that drives sends from where it is now.
 * @param device its number
 * @param receivedAt the server's time in epoch milliseconds
 */
export function updateOf(driver: Driver, device: number, receivedAt: number): Update {
  const { latitude, longitude } = driver.position()
  return {
    scope: 2,
    deviceId: `device-${device}`,
    latitude,
    longitude,
    accuracy: driver.accuracy,
    foreground: false,
    stopped: driver.stopped,
    replayed: false,
    receivedAt,
    ip: '203.0.113.7',
  }
}
