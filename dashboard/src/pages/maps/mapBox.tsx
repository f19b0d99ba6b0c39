// oxlint-disable-next-line import/no-unassigned-import
import './mapBox.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../../ui/parts.tsx'
import type { Box } from '../../map/geometry.ts'
import { openMap, type OpenMap } from '../../map/map.ts'
import { homeBox } from './home.ts'

/**
 * A map within a page.
 * @param onOpen gets the map once, and returns what ends its work
 */
export function MapBox(props: {
  readonly label: string
  readonly onOpen: (opened: OpenMap) => (() => void) | void
  readonly height?: number
  /** Whether it begins where the records of the environment are, because it has nothing of its own to show. */
  readonly isHome?: boolean
}) {
  const { label, onOpen, height = 520, isHome = false } = props
  const container = useRef<HTMLDivElement>(null)
  const [credits, setCredits] = useState('')
  const [opened, setOpened] = useState<OpenMap | undefined>()
  const [isMissing, setMissing] = useState(false)
  useEffect(() => {
    let close: (() => void) | undefined = () => {}
    const open = (box: Box | undefined) => {
      if (close === undefined) return
      const made = openMap(container.current!, box, setCredits)
      if (made === undefined) {
        setMissing(true)
        return
      }
      setOpened(made)
      // The tests of pages read the map here.
      ;(container.current as { openMap?: OpenMap } | null)!.openMap = made
      const end = onOpen(made)
      close = () => {
        end?.()
        made.close()
      }
    }
    if (isHome) void homeBox().then(open)
    else open(undefined)
    return () => {
      close?.()
      close = undefined
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
