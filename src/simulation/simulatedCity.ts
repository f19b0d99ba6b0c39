import type { Position } from '../model/geofence.ts'
import { cityPosition, seededRandom, type City } from './streets.ts'

/** The simulated city lies in Montevideo, of which the sample region has a detailed map. */
export const SIMULATED_GRID: City = {
  latitude: -34.921,
  longitude: -56.201,
  sizeMeters: 4800,
  blockMeters: 110,
}

/** The tag of the geofences, by which people find and remove them. */
export const SIMULATED_TAG = 'city'

/** A geofence of the city, in the fields of the API. */
export interface SimulatedGeofence {
  readonly tag: string
  readonly externalId: string
  readonly description: string
  readonly type: 'circle' | 'polygon'
  readonly coordinates: Position | readonly Position[]
  readonly radius?: number
}

const COUNT = 24
const KINDS = ['Market', 'Depot', 'Station', 'School', 'Café', 'Garage', 'Clinic', 'Park'] as const
const QUARTERS = ['North', 'South', 'East', 'West', 'Old Town', 'Riverside'] as const

/** The geofences of the city. They are the same each time, so that a second simulation does not create others. */
export function simulatedGeofences(): SimulatedGeofence[] {
  const random = seededRandom(7)
  return Array.from({ length: COUNT }, (_, i) => {
    const east = (0.08 + 0.84 * random()) * SIMULATED_GRID.sizeMeters
    const north = (0.08 + 0.84 * random()) * SIMULATED_GRID.sizeMeters
    const radius = Math.round(70 + random() * 170)
    const description = `${KINDS[i % KINDS.length]!} ${QUARTERS[i % QUARTERS.length]!}`
    const named = { tag: SIMULATED_TAG, externalId: String(i + 1), description }
    if (random() < 0.65) return { ...named, type: 'circle', coordinates: corner(east, north), radius }
    const corners = 4 + Math.floor(random() * 4)
    const ring = Array.from({ length: corners }, (_unused, k) => {
      const angle = (2 * Math.PI * k) / corners
      return corner(east + radius * Math.cos(angle), north + radius * Math.sin(angle))
    })
    return { ...named, type: 'polygon', coordinates: [...ring, ring[0]!] }
  })
}

function corner(east: number, north: number): Position {
  const { latitude, longitude } = cityPosition(SIMULATED_GRID, east, north)
  return [longitude, latitude]
}
