import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { GeoJSONSource } from 'maplibre-gl'
import type { GeofenceDefinition } from '../../../../sdk/src/types.ts'
import { call, CallFailure } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { colorOf } from '../../map/colors.ts'
import { boxAround, type LngLat } from '../../map/geometry.ts'
import type { OpenMap } from '../../map/map.ts'
import { MapBox } from '../maps/mapBox.tsx'
import { go, pagePath, place } from '../../router.ts'
import { may } from '../../session/session.ts'
import { usePageKey } from '../../shell/keys.tsx'
import { CallButton } from '../../ui/code.tsx'
import { Button, Dialog, Failure, LinkButton, Loading } from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import { definitionOf, draftOf, draftRing, newDraft, type GeofenceDraft } from './geofenceDraft.ts'
import { GeofenceForm } from './geofenceForm.tsx'
import { GhostPanel } from './ghostPanel.tsx'
import type { PolygonDrawing } from './drawing.ts'
import { useReach } from './reach.ts'

/** Making a geofence, or changing one: the form and the map show the same. */
export function GeofenceEditor({ id }: { readonly id: string | undefined }) {
  const { data, failure, reload } = useQuery(`geofence ${id}`, async (signal) =>
    id === undefined ? null : (await call('get', '/v1/geofences/{id}', { params: { id }, signal })).geofence,
  )
  if (failure)
    return (
      <div class="page">
        <Failure failure={failure} retry={reload} />
      </div>
    )
  if (data === undefined) return <Loading />
  return <Editor id={id} initial={data === null ? newDraft(place.value.query) : draftOf(data)} />
}

function Editor({ id, initial }: { readonly id: string | undefined; readonly initial: GeofenceDraft }) {
  const [draft, setDraft] = useState(initial)
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const [isBusy, setBusy] = useState(false)
  const [isDeleting, setDeleting] = useState(false)
  const canWrite = may('POST /v1/geofences')
  const change = (changes: Partial<GeofenceDraft>) => setDraft((before) => ({ ...before, ...changes }))
  usePageKey('Escape', () => go(pagePath('geofences')))
  const save = async () => {
    setBusy(true)
    setFailure(undefined)
    try {
      const body = definitionOf(draft)
      const { geofence } =
        id === undefined
          ? await call('post', '/v1/geofences', {
              body: body as GeofenceDefinition & { tag: string; externalId: string },
            })
          : await call('put', '/v1/geofences/{id}', { params: { id }, body })
      say(`${geofence.description} was saved.`)
      go(pagePath('geofences'))
    } catch (error) {
      setFailure(error as CallFailure)
    } finally {
      setBusy(false)
    }
  }
  const path = id === undefined ? '/v1/geofences' : `/v1/geofences/${id}`
  return (
    <div class="page">
      <header>
        <LinkButton href={pagePath('geofences')} kind="plain" icon="back">
          Geofences
        </LinkButton>
        <h1>{id === undefined ? 'New geofence' : initial.description}</h1>
        <CallButton call={{ method: id === undefined ? 'POST' : 'PUT', path, body: definitionOf(draft) }} />
        {id !== undefined && canWrite && (
          <Button kind="danger" icon="trash" onClick={() => setDeleting(true)}>
            Delete
          </Button>
        )}
        {canWrite && (
          <Button kind="primary" disabled={isBusy} onClick={() => void save()}>
            {isBusy ? 'Saving …' : 'Save'}
          </Button>
        )}
      </header>
      {!canWrite && (
        <p class="notice">Your role may look at geofences. Somebody with the role write can change them.</p>
      )}
      <div class="split">
        {/* Who may not save it can look at it, and nothing suggests a change. */}
        <fieldset class="bare" disabled={!canWrite}>
          <GeofenceForm draft={draft} failure={failure} onChange={change} />
        </fieldset>
        <DraftMap draft={draft} canWrite={canWrite} onChange={change} />
      </div>
      {isDeleting && <DeleteDialog id={id!} name={initial.description} onClose={() => setDeleting(false)} />}
    </div>
  )
}

const SOURCE = 'draft'

/** The draft on the map: a click sets the centre, and corners of a polygon are drawn. */
function DraftMap({
  draft,
  canWrite,
  onChange,
}: {
  readonly draft: GeofenceDraft
  readonly canWrite: boolean
  readonly onChange: (changes: Partial<GeofenceDraft>) => void
}) {
  const [opened, setOpened] = useState<OpenMap | undefined>()
  const drawing = useRef<PolygonDrawing | undefined>(undefined)
  /** The ring that the map shows. */
  const drawn = useRef<readonly LngLat[]>([])
  const latest = useRef(draft)
  latest.current = draft
  const isFixed = useRef(!canWrite)
  isFixed.current = !canWrite
  const area = useMemo(
    () => draftRing(draft),
    [draft.type, draft.longitude, draft.latitude, draft.radius, draft.mode, draft.ring, draft.reached],
  )
  // The corners that can be dragged are drawn by the library of drawing.
  const ring = draft.type === 'polygon' && canWrite ? undefined : area
  const unreached = useReach(draft, onChange)
  useEffect(() => {
    opened?.onStyle(() => addDraft(opened, latest.current, isFixed.current))
    const first = draftRing(latest.current)
    const box = first && boxAround(first)
    if (opened && box) opened.fit(box)
    opened?.map.on('click', (event) => {
      const { lngLat } = event
      if (isFixed.current || latest.current.type === 'polygon' || event.defaultPrevented) return
      onChange({ longitude: lngLat.lng.toFixed(6), latitude: lngLat.lat.toFixed(6) })
    })
  }, [opened])
  useEffect(() => {
    const source = opened?.map.getSource(SOURCE) as GeoJSONSource | undefined
    source?.setData(collectionOf(ring) as never)
  }, [opened, JSON.stringify(ring)])
  useEffect(() => {
    // An area may be larger than what the map shows, or elsewhere if its place was typed.
    const box = draft.type === 'isochrone' && ring && boxAround(ring)
    if (opened && box && !opened.shows(box)) opened.fit(box)
  }, [opened, draft.reached])
  useEffect(() => {
    if (opened === undefined || draft.type !== 'polygon' || !canWrite) return undefined
    let isOver = false
    // The library of drawing is loaded when somebody draws.
    const begin = (Drawing: typeof PolygonDrawing) => {
      // The drawing starts anew after a change of the theme, which removes its layers.
      opened.onStyle(() => {
        if (isOver) return
        drawing.current?.close()
        drawn.current = latest.current.ring
        drawing.current = new Drawing(opened, drawn.current, (corners) => {
          drawn.current = corners
          onChange({ ring: corners })
        })
      })
    }
    import('./drawing.ts').then(
      (loaded) => begin(loaded.PolygonDrawing),
      () => say('The tool for drawing could not be loaded. The corners can still be typed.', 'bad'),
    )
    return () => {
      isOver = true
      drawing.current?.close()
      drawing.current = undefined
    }
  }, [opened, draft.type, canWrite])
  useEffect(() => {
    // Only corners that were typed have to be shown on the map.
    if (draft.ring === drawn.current) return
    drawn.current = draft.ring
    drawing.current?.show(draft.ring)
  }, [draft.ring])
  return (
    <div class="stack">
      <MapBox
        label="The geofence on the map"
        height={600}
        isHome={draftRing(latest.current) === undefined}
        onOpen={setOpened}
      />
      <div class="actions">
        {canWrite && (
          <span class="quiet" style={{ marginRight: 'auto' }}>
            {draft.type === 'polygon'
              ? 'Click corner after corner; click the first one again, or press Enter, to close the shape. Then drag its corners.'
              : 'Click on the map to set the centre.'}
          </span>
        )}
        {unreached && (
          <span class="quiet" role="status">
            {unreached}
          </span>
        )}
        {draft.type === 'polygon' && canWrite && (
          <Button size="small" onClick={() => onChange({ ring: [] })}>
            Draw anew
          </Button>
        )}
      </div>
      {opened && draft.type !== 'isochrone' && <GhostPanel opened={opened} ring={area} />}
    </div>
  )
}

function addDraft({ map }: OpenMap, draft: GeofenceDraft, isFixed: boolean): void {
  if (map.getSource(SOURCE) !== undefined) return
  const color = colorOf('fence')
  map.addSource(SOURCE, {
    type: 'geojson',
    data: collectionOf(draft.type === 'polygon' && !isFixed ? undefined : draftRing(draft)) as never,
  })
  map.addLayer({
    id: 'draft-fill',
    type: 'fill',
    source: SOURCE,
    paint: { 'fill-color': color, 'fill-opacity': 0.2 },
  })
  map.addLayer({
    id: 'draft-line',
    type: 'line',
    source: SOURCE,
    paint: { 'line-color': color, 'line-width': 2.5 },
  })
}

function collectionOf(ring: readonly LngLat[] | undefined) {
  const features =
    ring === undefined
      ? []
      : [{ type: 'Feature', properties: {}, geometry: { type: 'Polygon', coordinates: [ring] } }]
  return { type: 'FeatureCollection', features }
}

function DeleteDialog({
  id,
  name,
  onClose,
}: {
  readonly id: string
  readonly name: string
  readonly onClose: () => void
}) {
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const remove = async () => {
    try {
      await call('delete', '/v1/geofences/{id}', { params: { id } })
      say(`${name} was deleted.`)
      go(pagePath('geofences'))
    } catch (error) {
      setFailure(error as CallFailure)
    }
  }
  return (
    <Dialog title={`Delete ${name}?`} onClose={onClose}>
      <p>Devices inside leave it without an event. Its past events stay. This cannot be undone.</p>
      {failure && <Failure failure={failure} />}
      <div class="actions">
        <Button onClick={onClose}>Keep it</Button>
        <Button kind="danger" onClick={() => void remove()}>
          Delete
        </Button>
      </div>
    </Dialog>
  )
}
