import { useEffect, useRef, useState } from 'preact/hooks'
import { boxAround, type LngLat } from '../../map/geometry.ts'
import type { OpenMap } from '../../map/map.ts'
import { MapBox } from './mapBox.tsx'
import { Overlay, pointsOf, type Mark } from '../../map/overlay.ts'

/** A map with marks. It goes to where they are when `fitKey` changes, not whenever one of them moves. */
export function MarkMap(props: {
  readonly label: string
  readonly marks: readonly Mark[]
  readonly fitKey?: string
  readonly height?: number
  readonly onChoose?: (id: string) => void
  readonly onClick?: (at: LngLat) => void
  /** As of MapBox. */
  readonly isHome?: boolean
}) {
  const { label, marks, fitKey = '', height = 560, onChoose, onClick, isHome = false } = props
  const [shown, setShown] = useState<{ readonly overlay: Overlay; readonly map: OpenMap } | undefined>()
  const latest = useRef(props)
  latest.current = props
  useEffect(() => shown?.overlay.show(marks), [shown, marks])
  const isEmpty = marks.length === 0
  useEffect(() => {
    const box = boxAround(pointsOf(latest.current.marks))
    if (box !== undefined) shown?.map.fit(box)
  }, [shown, fitKey, isEmpty])
  const open = (map: OpenMap) => {
    const overlay = new Overlay(map, 'marks', onChoose && ((id) => latest.current.onChoose?.(id)))
    if (onClick !== undefined)
      map.map.on('click', (event) => {
        if (!event.defaultPrevented) latest.current.onClick?.([event.lngLat.lng, event.lngLat.lat])
      })
    setShown({ overlay, map })
  }
  return <MapBox label={label} height={height} isHome={isHome} onOpen={open} />
}
