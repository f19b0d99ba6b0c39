// oxlint-disable-next-line import/no-unassigned-import
import './explore.css'
import { ringSquareKilometers, type LngLat } from '../../map/geometry.ts'
import { pagePath } from '../../router.ts'
import { FactRows, type Fact } from '../../ui/facts.tsx'
import { Badge, Empty } from '../../ui/parts.tsx'
import { Stat, Stats } from '../../ui/stats.tsx'
import { pointText, type Answer } from './questions.ts'

const MAX_STEPS = 200

interface ResultProps {
  readonly answer: Answer
  readonly points: readonly LngLat[]
}

/** The answer in words, and the credit for its data. */
export function ExploreResult(props: ResultProps) {
  const { credit } = props.answer
  return (
    <>
      <ResultOfKind {...props} />
      {credit !== undefined && <p class="quiet explore-credit">{credit}</p>}
    </>
  )
}

function ResultOfKind({ answer, points }: ResultProps) {
  switch (answer.kind) {
    case 'addresses':
      return <Addresses addresses={answer.addresses} />
    case 'here':
      return <Here answer={answer} />
    case 'places':
      return <Places places={answer.places} />
    case 'routes':
      return <Routes routes={answer.routes} />
    case 'order':
      return <Order route={answer.route} />
    case 'matched':
      return (
        <div class="body">
          <Stats>
            <Stat name="on roads" value={answer.matched.distance.text} />
            <Stat name="points" value={points.length} />
          </Stats>
        </div>
      )
    case 'reach':
      return <Reach isochrone={answer.isochrone} at={points[0]!} />
    case 'matrix':
      return <Matrix matrix={answer.matrix} points={points} />
  }
}

function Addresses({
  addresses,
}: {
  readonly addresses: Extract<Answer, { kind: 'addresses' }>['addresses']
}) {
  if (addresses.length === 0)
    return (
      <Empty title="Nothing was found">
        <p>Addresses are those of the imported map regions; cities and countries are those of the world.</p>
      </Empty>
    )
  return (
    <ul class="steps">
      {addresses.map((address) => (
        <li key={`${address.layer} ${address.formattedAddress} ${address.latitude}`}>
          <Badge>{address.layer}</Badge>
          <span>
            <strong>{address.placeLabel ?? address.addressLabel ?? address.formattedAddress}</strong>
            <br />
            <span class="quiet">{address.formattedAddress}</span>
          </span>
          <a href={pagePath('explore/here', { at: pointText([address.longitude, address.latitude]) })}>
            what is here?
          </a>
        </li>
      ))}
    </ul>
  )
}

function Here({ answer }: { readonly answer: Extract<Answer, { kind: 'here' }> }) {
  const { context, addresses } = answer
  const [first] = addresses
  const region = [context.postalCode, context.dma, context.state, context.country]
    .flatMap((one) => one?.name ?? [])
    .join(', ')
  const facts: readonly Fact[] = [
    ['Address', first?.formattedAddress],
    ['Region', region],
    ['Place', context.place?.name],
    ['Time', first && `${first.timeZone.currentTime.slice(11, 16)} in ${first.timeZone.id}`],
  ]
  return (
    <>
      <div class="body">
        <dl class="facts">
          <FactRows facts={facts} />
          <dt>Geofences</dt>
          <dd class="chips">
            {context.geofences.length === 0 && <span class="quiet">none</span>}
            {context.geofences.map(({ _id, description }) => (
              <a key={_id} class="badge accent" href={pagePath(`geofences/${_id}`)}>
                {description}
              </a>
            ))}
          </dd>
        </dl>
      </div>
      {addresses.length > 0 && <Addresses addresses={addresses} />}
    </>
  )
}

function Places({ places }: { readonly places: Extract<Answer, { kind: 'places' }>['places'] }) {
  if (places.length === 0)
    return (
      <Empty title="No such place is near">
        <p>Try restaurant, supermarket, bank or park, within two kilometres.</p>
      </Empty>
    )
  return (
    <ul class="steps">
      {places.map(({ _id, name, categories, chain }) => (
        <li key={_id}>
          <Badge>{categories[0]}</Badge>
          <strong>{name}</strong>
          <span class="quiet">{chain?.name}</span>
        </li>
      ))}
    </ul>
  )
}

function Routes({ routes }: { readonly routes: Extract<Answer, { kind: 'routes' }>['routes'] }) {
  const [best] = routes
  if (best === undefined)
    return (
      <Empty title="There is no way">
        <p>Both ends must be near roads of the same map region.</p>
      </Empty>
    )
  const steps = best.legs.flatMap((leg) => leg.steps)
  return (
    <>
      <div class="body">
        <Stats>
          {routes.map(({ distance, duration }, i) => (
            <Stat
              key={i}
              name={i === 0 ? 'best way' : `other way ${i}`}
              value={duration.text}
              detail={distance.text}
            />
          ))}
        </Stats>
      </div>
      <ol class="steps">
        {steps.slice(0, MAX_STEPS).map((step, i) => (
          <li key={i}>
            <span class="number-sign">{i + 1}</span>
            <span>{step.instructions}</span>
            <span class="quiet">{step.distance.text}</span>
          </li>
        ))}
      </ol>
    </>
  )
}

function Order({ route }: { readonly route: Extract<Answer, { kind: 'order' }>['route'] }) {
  return (
    <>
      <div class="body">
        <Stats>
          <Stat name="in all" value={route.duration.text} detail={route.distance.text} />
        </Stats>
      </div>
      <ol class="steps">
        {route.legs.map(({ startIndex, endIndex, duration, distance }) => (
          <li key={startIndex}>
            <span class="number-sign">{endIndex + 1}</span>
            <span>
              from point {startIndex + 1} to point {endIndex + 1}
            </span>
            <span class="quiet">
              {duration.text}, {distance.text}
            </span>
          </li>
        ))}
      </ol>
    </>
  )
}

function Reach(props: {
  readonly isochrone: Extract<Answer, { kind: 'reach' }>['isochrone']
  readonly at: LngLat
}) {
  const { isochrone, at } = props
  const { minutes, mode, geometry } = isochrone
  const ring = (geometry.coordinates[0] ?? []) as unknown as readonly LngLat[]
  const asked = { at: pointText(at), minutes: String(minutes), by: mode }
  return (
    <div class="body stack">
      <Stats>
        <Stat name={`by ${mode}`} value={`${minutes} min`} />
        <Stat name="area" value={`${ringSquareKilometers(ring).toPrecision(3)} km²`} />
      </Stats>
      <p class="quiet">
        A <a href={pagePath('geofences/new', asked)}>geofence</a> of this travel time tells who comes and
        goes.
      </p>
    </div>
  )
}

function Matrix(props: {
  readonly matrix: Extract<Answer, { kind: 'matrix' }>['matrix']
  readonly points: readonly LngLat[]
}) {
  const { matrix, points } = props
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Travel times between the points">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">from, to</th>
            {points.map((point, i) => (
              <th key={pointText(point)} scope="col" class="number">
                {i + 1}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {matrix.map((row, i) => (
            <tr key={i}>
              <th scope="row">{i + 1}</th>
              {row.map(({ destinationIndex, duration, distance }) => (
                <td key={destinationIndex} class="number">
                  {duration === null ? 'no way' : duration.text}
                  <br />
                  <span class="quiet">{distance?.text}</span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
