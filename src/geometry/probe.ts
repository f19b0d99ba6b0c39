/**
 * The point of a query, with everything that geometry needs to know about it computed once: its position on the WGS84
 * ellipsoid in Earth-centred coordinates, so that a distance needs no trigonometry.
 *
 * One probe is reused for many points; {@link Probe.set} returns the same object.
 */
export class Probe {
  /** In degrees, −90 to 90. */
  latitude = 0
  /** In degrees, −180 to 180. */
  longitude = 0
  /** Earth-centred, Earth-fixed coordinates in metres, at ellipsoid height 0. */
  x = 0
  y = 0
  z = 0
  sinLatitude = 0
  cosLatitude = 1

  set(latitude: number, longitude: number): this {
    const phi = (latitude * Math.PI) / 180
    const lambda = (longitude * Math.PI) / 180
    const sin = Math.sin(phi)
    const cos = Math.cos(phi)
    const primeVertical = WGS84_A / Math.sqrt(1 - WGS84_E2 * sin * sin)
    this.latitude = latitude
    this.longitude = longitude
    this.sinLatitude = sin
    this.cosLatitude = cos
    this.x = primeVertical * cos * Math.cos(lambda)
    this.y = primeVertical * cos * Math.sin(lambda)
    this.z = primeVertical * (1 - WGS84_E2) * sin
    return this
  }
}

/** The semi-major axis of WGS84 in metres. */
export const WGS84_A = 6378137
/** The flattening of WGS84. */
export const WGS84_F = 1 / 298.257223563
/** The first eccentricity of WGS84, squared. */
export const WGS84_E2 = WGS84_F * (2 - WGS84_F)
