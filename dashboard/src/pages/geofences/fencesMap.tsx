import { useEffect, useState } from 'preact/hooks'
import type { Geofence } from '../../../../sdk/src/types.ts'
import { FenceLayer } from '../../map/fences.ts'
import { FenceTileLayer } from '../../map/fenceTiles.ts'
import { boxAround, circleRing, type LngLat } from '../../map/geometry.ts'
import type { OpenMap } from '../../map/map.ts'
import { MapBox } from '../maps/mapBox.tsx'

/** The geofences of a list, over all others; the one that the mouse is on in the list is bold. */
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
      onOpen={(map) => {
        const all = new FenceTileLayer(map, onChoose, { isFaint: true })
        setLayer({ map, fences: new FenceLayer(map, onChoose) })
        return () => all.close()
      }}
    />
  )
}
