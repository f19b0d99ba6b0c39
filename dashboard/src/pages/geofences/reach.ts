import { useEffect, useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { hasCall } from '../../api/document.ts'
import type { LngLat } from '../../map/geometry.ts'
import { reachOf, type GeofenceDraft } from './geofenceDraft.ts'

/** The server is asked once nothing has been typed for this time. */
const CALM_MS = 400
/** Areas of more minutes are computed after the geofence is saved. */
const MOST_MINUTES = 60

/**
 * Asks for the area of an isochrone while it is being set, so that it is seen before it is saved.
 * @returns why there is none: in the words of the server, if it has refused
 */
export function useReach(
  draft: GeofenceDraft,
  onChange: (changes: Partial<GeofenceDraft>) => void,
): string | undefined {
  const [reason, setReason] = useState<string | undefined>()
  const of = reachOf(draft)
  const minutes = Number(draft.radius)
  const isMissing =
    draft.type === 'isochrone' &&
    draft.longitude !== '' &&
    draft.latitude !== '' &&
    draft.reached?.of !== of &&
    hasCall('GET /v1/route/isochrone')
  const canAsk = isMissing && minutes <= MOST_MINUTES
  useEffect(() => {
    setReason(canAsk ? 'The area is being computed …' : undefined)
    if (!canAsk) return undefined
    const stop = new AbortController()
    const ask = async () => {
      const { latitude, longitude, mode } = draft
      const query = { coordinates: `${latitude},${longitude}`, minutes, mode } as never
      try {
        const { isochrone } = await call('get', '/v1/route/isochrone', { query, signal: stop.signal })
        const [ring] = isochrone.geometry.coordinates
        if (!stop.signal.aborted) onChange({ reached: { of, ring: ring as unknown as readonly LngLat[] } })
      } catch (error) {
        if (!stop.signal.aborted) setReason((error as Error).message)
      }
    }
    const timer = setTimeout(() => void ask(), CALM_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [of, canAsk])
  return isMissing && minutes > MOST_MINUTES
    ? `The area of more than ${MOST_MINUTES} minutes is computed once the geofence is saved.`
    : reason
}
