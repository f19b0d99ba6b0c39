import { useEffect, useState } from 'preact/hooks'
import type { AnswerOf, Geofence } from '../../../../sdk/src/types.ts'
import { addressOf, call } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { colorOf } from '../../map/colors.ts'
import { FenceLayer, fenceRings } from '../../map/fences.ts'
import { boxAround, circleRing, type LngLat } from '../../map/geometry.ts'
import type { OpenMap } from '../../map/map.ts'
import { MapBox } from '../maps/mapBox.tsx'
import { pagePath } from '../../router.ts'
import { CallButton } from '../../ui/code.tsx'
import { Ago, Badge, Empty, Failure, LinkButton, Loading } from '../../ui/parts.tsx'
import { metersText, outcomeName, recordName, userName } from '../../ui/words.ts'
import { ExplainedAround } from './explainedAround.tsx'
import { WhyNothing } from './whyNothing.tsx'

type Candidate = AnswerOf<'/v1/users/{id}/explain', 'get'>['explanation']['candidates'][number]

/** The maximum number of geofences on the map; the list has all of them. */
const DRAWN = 60
/** How far around the update the map shows at first, in metres. */
const LEAST_AROUND = 200

/** Why the last update of a user caused what it caused: in sentences, and on the map. */
export function ExplainPage({ id }: { readonly id: string }) {
  const params = { id }
  const { data, failure, reload } = useQuery(`explain ${id}`, (signal) =>
    call('get', '/v1/users/{id}/explain', { params, signal }),
  )
  const [chosen, setChosen] = useState<string | undefined>()
  const [text, setText] = useState('')
  if (failure)
    return (
      <div class="page">
        <Failure failure={failure} retry={reload} />
      </div>
    )
  if (data === undefined) return <Loading />
  const { update, candidates, note } = data.explanation
  const wanted = text.trim().toLowerCase()
  // By what the search of the server looks at, too: a name that is in none of these is elsewhere.
  const shown = candidates.filter(({ geofence: { description, tag, externalId } }) =>
    [description, tag, externalId].some((part) => part?.toLowerCase().includes(wanted)),
  )
  return (
    <div class="page">
      <header>
        <LinkButton href={pagePath(`users/${id}`)} kind="plain" icon="back">
          {userName(data.user)}
        </LinkButton>
        <h1>Why? The last update, explained</h1>
        <CallButton call={{ method: 'GET', path: addressOf('/v1/users/{id}/explain', { params }) }} />
      </header>
      <p>
        <Ago at={update.time} /> at{' '}
        <span class="mono">
          {update.latitude.toFixed(6)}, {update.longitude.toFixed(6)}
        </span>
        {update.accuracy !== undefined && `, accurate to ${metersText(update.accuracy)}`}
        {update.stopped ? ', stopped' : ', moving'}. {note}
      </p>
      <div class="split">
        <div class="stack">
          <section class="card" aria-label="Geofences near the update">
            <header>
              <h2>Geofences that could matter</h2>
              <input
                class="input"
                type="search"
                aria-label="Why nothing? Search a geofence"
                placeholder="Why nothing? A geofence …"
                style={{ flex: '0 1 260px' }}
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            </header>
            {candidates.length === 0 && wanted === '' && (
              <Empty title="No geofence is near">
                <p>Only geofences near the location can cause events.</p>
              </Empty>
            )}
            {shown.length === 0 && wanted !== '' && (
              <WhyNothing text={text.trim()} at={[update.longitude, update.latitude]} />
            )}
            <ul>
              {shown.map((candidate) => (
                <CandidateLine
                  key={candidate.geofence._id}
                  candidate={candidate}
                  isChosen={candidate.geofence._id === chosen}
                  onChoose={() => setChosen(candidate.geofence._id)}
                />
              ))}
            </ul>
          </section>
          <ExplainedAround explanation={data.explanation} />
        </div>
        <ExplainMap
          at={[update.longitude, update.latitude]}
          accuracy={update.accuracy ?? 0}
          candidates={candidates.slice(0, DRAWN)}
          chosen={chosen}
        />
      </div>
    </div>
  )
}

function CandidateLine(props: {
  readonly candidate: Candidate
  readonly isChosen: boolean
  readonly onChoose: () => void
}) {
  const { candidate, isChosen, onChoose } = props
  const { geofence, outcome, reason, distance, coverage, confidence, event, ineligible } = candidate
  return (
    <li class="event-line candidate">
      <button type="button" aria-pressed={isChosen} onClick={onChoose}>
        <span class="with-sign">
          <strong>{recordName(geofence)}</strong>
          <Badge tone={event ? 'ok' : ineligible ? 'warn' : undefined}>{outcomeName(outcome)}</Badge>
        </span>
        <span>{reason}</span>
        <span class="quiet">
          {distance !== undefined &&
            (distance <= 0
              ? `${metersText(-distance)} inside the boundary`
              : `${metersText(distance)} outside`)}
          {coverage !== undefined && ` · covers ${Math.round(coverage * 100)} % of the accuracy disc`}
          {confidence !== undefined && ` · confidence ${confidence}`}
        </span>
      </button>
    </li>
  )
}

const SOURCE = 'update'

function ExplainMap(props: {
  readonly at: LngLat
  readonly accuracy: number
  readonly candidates: readonly Candidate[]
  readonly chosen: string | undefined
}) {
  const { at, accuracy, candidates, chosen } = props
  const [layer, setLayer] = useState<FenceLayer | undefined>()
  const [opened, setOpened] = useState<OpenMap | undefined>()
  const ids = candidates.map(({ geofence }) => geofence._id)
  const around = Math.max(accuracy * 4, LEAST_AROUND)
  const fences = useQuery(`geofences ${ids.join()}`, async (signal) => {
    const found = await Promise.all(
      // A geofence that was deleted meanwhile is left out.
      ids.map((id) => call('get', '/v1/geofences/{id}', { params: { id }, signal }).catch(() => undefined)),
    )
    return found.flatMap((answer): Geofence[] => (answer === undefined ? [] : [answer.geofence]))
  })
  useEffect(() => layer?.show(fences.data ?? [], chosen), [layer, fences.data, chosen])
  const wanted = chosen ?? farNearest(candidates, around)
  useEffect(() => {
    const fence = fences.data?.find(({ _id }) => _id === wanted)
    const ring = fence && fenceRings(fence)?.[0]
    if (opened && ring) opened.fit(boxAround([...ring, at])!)
  }, [opened, fences.data, wanted])
  const open = (map: OpenMap) => {
    setOpened(map)
    setLayer(new FenceLayer(map))
    map.onStyle(() => addUpdate(map, at, accuracy))
    map.fit(boxAround(circleRing(at, around))!, 18)
  }
  return <MapBox label="The update and the geofences" height={560} onOpen={open} />
}

/** The nearest geofence, if what is around the update does not reach it. */
function farNearest(candidates: readonly Candidate[], around: number): string | undefined {
  const away = ({ distance = Infinity }: Candidate) => Math.abs(distance)
  const [nearest] = candidates.toSorted((a, b) => away(a) - away(b))
  return nearest !== undefined && away(nearest) > around ? nearest.geofence._id : undefined
}

function addUpdate({ map }: OpenMap, at: LngLat, accuracy: number): void {
  if (map.getSource(SOURCE) !== undefined) return
  const color = colorOf('device')
  const features = [
    {
      type: 'Feature',
      properties: {},
      geometry: { type: 'Polygon', coordinates: [circleRing(at, Math.max(accuracy, 0.1))] },
    },
    { type: 'Feature', properties: {}, geometry: { type: 'Point', coordinates: at } },
  ]
  map.addSource(SOURCE, { type: 'geojson', data: { type: 'FeatureCollection', features } as never })
  map.addLayer({
    id: 'update-disc',
    type: 'fill',
    source: SOURCE,
    filter: ['==', ['geometry-type'], 'Polygon'],
    paint: { 'fill-color': color, 'fill-opacity': 0.22, 'fill-outline-color': color },
  })
  map.addLayer({
    id: 'update-point',
    type: 'circle',
    source: SOURCE,
    filter: ['==', ['geometry-type'], 'Point'],
    paint: {
      'circle-color': color,
      'circle-radius': 6,
      'circle-stroke-color': colorOf('card'),
      'circle-stroke-width': 2,
    },
  })
}
