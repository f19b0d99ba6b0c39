import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../../api/call.ts'
import { hasCall } from '../../api/document.ts'
import { useQuery } from '../../api/useQuery.ts'
import type { LngLat } from '../../map/geometry.ts'
import { go, pagePath, place, setQuery } from '../../router.ts'
import type { PageProps } from '../../routes.ts'
import { CallButton } from '../../ui/code.tsx'
import { SelectField, TextArea, TextField } from '../../ui/fields.tsx'
import { Button, Empty, Failure, Loading } from '../../ui/parts.tsx'
import { MarkMap } from '../maps/markMap.tsx'
import { pointText, pointsIn, QUESTIONS, USUAL_MINUTES, type Asked } from './questions.ts'
import { ExploreResult } from './exploreResult.tsx'
import { marksOf } from './exploreMarks.ts'

const MODES = ['car', 'truck', 'foot', 'bike', 'motorbike'] as const
const FIRST = 'search'

/** Tries geocoding and routing on the map; the address has the question. */
export default function ExplorePage({ parts: [name = FIRST] }: PageProps) {
  const question = QUESTIONS[name]
  useEffect(() => {
    if (question === undefined) go(pagePath(`explore/${FIRST}`), { replace: true })
  }, [name])
  return question === undefined ? null : <Explorer key={name} name={name} />
}

function Explorer({ name }: { readonly name: string }) {
  const question = QUESTIONS[name]!
  const query = place.value.query
  const points = pointsIn(query.get('at') ?? '')
  const asked: Asked = {
    points,
    text: query.get('q') ?? '',
    mode: query.get('by') ?? 'car',
    minutes: query.get('minutes') ?? '',
  }
  const isReady = question.isReady(asked)
  const { data, failure, isLoading, reload } = useQuery(
    `explore ${name} ${JSON.stringify(asked)}`,
    async (signal) => (isReady ? question.ask(asked, signal) : null),
  )
  const setPoints = (next: readonly LngLat[]) => setQuery({ at: next.map(pointText).join('|') })
  const click = (at: LngLat) => {
    if (question.points === 0) return
    setPoints(question.points === 1 ? [at] : [...points, at].slice(-question.points))
  }
  const shownCall = isReady ? question.callOf(asked) : undefined
  return (
    <div class="page">
      <header>
        <h1>Explore</h1>
        {shownCall && (
          <CallButton
            call={{
              method: shownCall.method ?? 'GET',
              path: addressOf(shownCall.path, { query: shownCall.query }),
              body: shownCall.body,
            }}
          />
        )}
      </header>
      <nav class="segments explore-modes" aria-label="What to try">
        {Object.entries(QUESTIONS)
          .filter(([, { needs }]) => needs === undefined || hasCall(needs))
          .map(([one, { title }]) => (
            <a
              key={one}
              href={pagePath(`explore/${one}`, {
                at: query.get('at') ?? undefined,
                by: query.get('by') ?? undefined,
              })}
              aria-current={one === name ? 'true' : undefined}
            >
              {title}
            </a>
          ))}
      </nav>
      <div class="split">
        <div class="stack">
          <section class="card" aria-label="Question">
            <div class="body form">
              <p class="quiet">{question.help}</p>
              {question.hasText && (
                <TextField
                  label={question.hasText}
                  type="search"
                  value={asked.text}
                  onInput={(q) => setQuery({ q })}
                  autofocus
                />
              )}
              {question.points > 0 && (
                <PointsField points={points} most={question.points} onChange={setPoints} />
              )}
              {question.hasMinutes && (
                <TextField
                  label="Minutes"
                  help="1 to 60"
                  placeholder={USUAL_MINUTES}
                  value={asked.minutes}
                  wrong={failure?.param === 'minutes' ? failure.message : undefined}
                  onInput={(minutes) => setQuery({ minutes })}
                />
              )}
              {question.hasMode && (
                <SelectField
                  label="By"
                  value={asked.mode}
                  options={MODES.map((mode) => [mode, mode] as const)}
                  onChange={(by) => setQuery({ by })}
                />
              )}
            </div>
          </section>
          {failure && failure.param !== 'minutes' && <Failure failure={failure} retry={reload} />}
          <section class="card" aria-label="Answer">
            {isLoading && isReady && data === undefined && <Loading />}
            {!isReady && (
              <Empty title="No answer yet">
                <p>{question.missing}</p>
              </Empty>
            )}
            {data && <ExploreResult answer={data} points={points} />}
          </section>
        </div>
        <MarkMap
          label="Question and answer on the map"
          marks={marksOf(points, data ?? undefined)}
          fitKey={`${name} ${JSON.stringify(data ?? null).length} ${asked.text}`}
          height={640}
          isHome={points.length === 0}
          onClick={click}
        />
      </div>
    </div>
  )
}

/** Points, one a line; a click on the map adds one. What was typed stays as it is, until there are other points. */
function PointsField(props: {
  readonly points: readonly LngLat[]
  readonly most: number
  readonly onChange: (points: readonly LngLat[]) => void
}) {
  const { points, most, onChange } = props
  const [typed, setTyped] = useState('')
  const typedPoints = pointsIn(typed.replaceAll('\n', '|')).slice(0, most)
  const isTyped = typedPoints.map(pointText).join() === points.map(pointText).join()
  return (
    <>
      <TextArea
        label={most === 1 ? 'Point' : 'Points'}
        help={`Latitude, longitude${most === 1 ? '' : ', one a line'}; or click on the map.`}
        rows={most === 1 ? 1 : Math.max(3, points.length + 1)}
        value={isTyped ? typed : points.map((point) => pointText(point).replace(',', ', ')).join('\n')}
        onInput={(text) => {
          setTyped(text)
          onChange(pointsIn(text.replaceAll('\n', '|')).slice(0, most))
        }}
      />
      {points.length > 0 && (
        <div class="actions">
          {most > 1 && (
            <Button size="small" onClick={() => onChange(points.slice(0, -1))}>
              Take the last away
            </Button>
          )}
          <Button
            size="small"
            onClick={() => {
              setTyped('')
              onChange([])
            }}
          >
            Clear
          </Button>
        </div>
      )}
    </>
  )
}
