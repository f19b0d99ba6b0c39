import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { circleRing, type LngLat } from '../../map/geometry.ts'
import { confidenceCells, judgeFix, type GhostVerdict } from '../../map/ghost.ts'
import type { OpenMap } from '../../map/map.ts'
import { Overlay, type Mark } from '../../map/overlay.ts'
import { CheckField, TextField } from '../../ui/fields.tsx'
import { Badge } from '../../ui/parts.tsx'
import { metersText } from '../../ui/words.ts'

const FIRST_ACCURACY = 20
const WORDS = ['', 'low', 'medium', 'high'] as const
const COLORS = ['line-2', 'bad', 'warn', 'ok'] as const

/**
 * A device that is not there: drag it, and see what its update would mean for the area that is being drawn, and where a fix
 * of its accuracy has which confidence.
 */
export function GhostPanel({
  opened,
  ring,
}: {
  readonly opened: OpenMap
  readonly ring: readonly LngLat[] | undefined
}) {
  const [isOn, setOn] = useState(false)
  return (
    <section class="card" aria-label="Ghost device">
      <div class="body form">
        <CheckField label="Ghost device: what would an update here mean?" checked={isOn} onChange={setOn} />
        {isOn && ring === undefined && <p class="quiet">Draw the geofence first.</p>}
        {isOn && ring !== undefined && <Ghost opened={opened} ring={ring} />}
      </div>
    </section>
  )
}

function Ghost({ opened, ring }: { readonly opened: OpenMap; readonly ring: readonly LngLat[] }) {
  const [at, setAt] = useState<LngLat>(() => {
    const { lng, lat } = opened.map.getCenter()
    return [lng, lat]
  })
  const [accuracyText, setAccuracy] = useState(String(FIRST_ACCURACY))
  const [isStopped, setStopped] = useState(false)
  const [hasRings, setRings] = useState(true)
  const overlay = useRef<Overlay | undefined>(undefined)
  const accuracy = Math.max(1, Math.min(5000, Number(accuracyText) || FIRST_ACCURACY))
  const settings = useQuery(
    'settings',
    async (signal) => (await call('get', '/v1/settings', { signal })).settings,
  )
  const cells = useMemo(() => (hasRings ? confidenceCells(ring, accuracy) : []), [hasRings, ring, accuracy])
  const verdict = judgeFix(ring, at, accuracy)
  useEffect(() => {
    overlay.current = new Overlay(opened, 'ghost')
    const end = followDrag(opened, setAt)
    return () => {
      end()
      overlay.current?.show([])
    }
  }, [opened])
  useEffect(() => {
    const squares = cells.map(({ ring: square, confidence }): Mark => ({
      shape: 'area',
      color: COLORS[confidence],
      ring: square,
      isBare: true,
    }))
    overlay.current?.show([
      ...squares,
      { shape: 'area', color: 'device', ring: circleRing(at, accuracy) },
      { shape: 'point', color: 'device', at, isStrong: true, name: 'drag me' },
    ])
  }, [cells, at, accuracy])
  return (
    <>
      <div class="pair">
        <TextField
          label="At"
          help="Latitude, longitude; or drag it."
          value={`${at[1].toFixed(6)}, ${at[0].toFixed(6)}`}
          onInput={(text) => {
            const [latitude, longitude] = text.split(',').map(Number)
            if (Number.isFinite(latitude) && Number.isFinite(longitude)) setAt([longitude!, latitude!])
          }}
        />
        <TextField label="Accuracy in metres" value={accuracyText} onInput={setAccuracy} />
      </div>
      <div class="chips">
        <CheckField label="It stands" checked={isStopped} onChange={setStopped} />
        <CheckField label="Rings of confidence" checked={hasRings} onChange={setRings} />
      </div>
      <p role="status">
        {sentenceOf(verdict)} <Sentence verdict={verdict} isStopped={isStopped} settings={settings.data} />
      </p>
      {hasRings && (
        <p class="chips">
          <Badge tone="ok">3 high</Badge>
          <Badge tone="warn">2 medium</Badge>
          <Badge tone="bad">1 low</Badge>
          <span class="quiet">confidence of an entry from there</span>
        </p>
      )}
    </>
  )
}

/** The sentence that says what the settings make of the fix. */
function Sentence(props: {
  readonly verdict: GhostVerdict
  readonly isStopped: boolean
  readonly settings: { readonly minimumConfidence: number; readonly stopDetection?: unknown } | undefined
}) {
  const { verdict, isStopped, settings } = props
  if (settings === undefined) return null
  const what = verdict.isInside ? 'entry' : 'exit'
  if (verdict.confidence < settings.minimumConfidence)
    return <strong>The settings hold it back: they want at least {settings.minimumConfidence}.</strong>
  if (verdict.isInside && settings.stopDetection === true && !isStopped)
    return <strong>It moves, and the settings let only devices enter that stand.</strong>
  return <strong>An {what} happens, if the device was on the other side before.</strong>
}

function sentenceOf({ distance, coverage, isInside, confidence }: GhostVerdict): string {
  const where = isInside ? `${metersText(-distance)} inside the boundary` : `${metersText(distance)} outside`
  const covered = `the geofence covers ${Math.round(coverage * 100)} % of its disc`
  return `${where}; ${covered}; confidence ${confidence}, ${WORDS[confidence]}.`
}

/**
 * Calls with the places that the ghost is dragged to.
 * @returns a function that ends it
 */
function followDrag({ map }: OpenMap, onDrag: (at: LngLat) => void): () => void {
  const down = map.on('mousedown', 'ghost-points', (event) => {
    // Otherwise the map would be dragged along.
    event.preventDefault()
    const move = map.on('mousemove', ({ lngLat }) => onDrag([lngLat.lng, lngLat.lat]))
    map.once('mouseup', () => move.unsubscribe())
  })
  const over = map.on('mouseenter', 'ghost-points', () => (map.getCanvas().style.cursor = 'grab'))
  const out = map.on('mouseleave', 'ghost-points', () => (map.getCanvas().style.cursor = ''))
  return () => {
    for (const subscription of [down, over, out]) subscription.unsubscribe()
  }
}
