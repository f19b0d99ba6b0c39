// oxlint-disable-next-line import/no-unassigned-import
import '../map/map.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Geofence } from '../../../../sdk/src/types.ts'
import { FenceLayer } from '../../map/fences.ts'
import { boxAround, circleRing, type LngLat } from '../../map/geometry.ts'
import { openMap, type OpenMap } from '../../map/map.ts'

/** A map within a page. @param onOpen gets the map once, and returns what ends its work */
export function MapBox(props: {
  readonly label: string
  readonly onOpen: (opened: OpenMap) => (() => void) | void
  readonly height?: number
}) {
  const { label, onOpen, height = 520 } = props
  const container = useRef<HTMLDivElement>(null)
  const [credits, setCredits] = useState('')
  const [isMissing, setMissing] = useState(false)
  useEffect(() => {
    const opened = openMap(container.current!, undefined, setCredits)
    if (opened === undefined) {
      setMissing(true)
      return undefined
    }
    const end = onOpen(opened)
    return () => {
      end?.()
      opened.close()
    }
  }, [])
  return (
    <section class="map-frame card" aria-label={label} style={{ height: `${height}px` }}>
      <div class="map" ref={container} />
      {isMissing && <p class="notice warn">This browser has no WebGL, so there is no map.</p>}
      <div class="over bottom-right">{credits && <span class="credits">{credits}</span>}</div>
    </section>
  )
}

/** Geofences on a map; the one that the mouse is on in the list is bold. */
export function FencesMap(props: {
  readonly fences: readonly Geofence[]
  readonly chosen?: string | undefined
  readonly onChoose?: (id: string) => void
}) {
  const { fences, chosen, onChoose } = props
  const [layer, setLayer] = useState<{ fences: FenceLayer; map: OpenMap } | undefined>()
  useEffect(() => layer?.fences.show(fences, chosen), [layer, fences, chosen])
  const ids = fences.map(({ _id }) => _id).join()
  useEffect(() => {
    const box = boxAround(
      fences.flatMap(({ geometryCenter, geometryRadius }) =>
        circleRing(geometryCenter.coordinates as unknown as LngLat, geometryRadius),
      ),
    )
    if (box !== undefined) layer?.map.fit(box)
  }, [layer, ids])
  return (
    <MapBox
      label="Map of the geofences in the list"
      height={620}
      onOpen={(map) => setLayer({ map, fences: new FenceLayer(map, onChoose) })}
    />
  )
}
