// oxlint-disable-next-line import/no-unassigned-import
import './mapBox.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../../ui/parts.tsx'
import { openMap, type OpenMap } from '../../map/map.ts'

/**
 * A map within a page.
 * @param onOpen gets the map once, and returns what ends its work
 */
export function MapBox(props: {
  readonly label: string
  readonly onOpen: (opened: OpenMap) => (() => void) | void
  readonly height?: number
}) {
  const { label, onOpen, height = 520 } = props
  const container = useRef<HTMLDivElement>(null)
  const [credits, setCredits] = useState('')
  const [opened, setOpened] = useState<OpenMap | undefined>()
  const [isMissing, setMissing] = useState(false)
  useEffect(() => {
    const made = openMap(container.current!, undefined, setCredits)
    if (made === undefined) {
      setMissing(true)
      return undefined
    }
    setOpened(made)
    // The tests of pages read the map here.
    ;(container.current as { openMap?: OpenMap } | null)!.openMap = made
    const end = onOpen(made)
    return () => {
      end?.()
      made.close()
    }
  }, [])
  return (
    <section class="map-frame card" aria-label={label} style={{ height: `${height}px` }}>
      <div class="map" ref={container} />
      {isMissing && <p class="notice warn">This browser has no WebGL, so there is no map.</p>}
      <div class="over bottom-right">
        {opened && <ZoomButtons map={opened.map} />}
        {credits && <span class="credits">{credits}</span>}
      </div>
    </section>
  )
}

/** Buttons for those who zoom without a wheel or keys. */
function ZoomButtons({ map }: Pick<OpenMap, 'map'>) {
  return (
    <div class="panel zoom">
      <Button kind="plain" icon="plus" label="Zoom in" onClick={() => map.zoomIn({ animate: false })} />
      <Button kind="plain" icon="minus" label="Zoom out" onClick={() => map.zoomOut({ animate: false })} />
    </div>
  )
}
