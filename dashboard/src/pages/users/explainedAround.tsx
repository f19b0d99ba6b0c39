import type { AnswerOf } from '../../../../sdk/src/types.ts'
import { Badge } from '../../ui/parts.tsx'
import { eventName, metersText } from '../../ui/words.ts'

type Explanation = AnswerOf<'/v1/users/{id}/explain', 'get'>['explanation']

/** Why the user is in these regions and in this place, or in none: if the settings ask for regions and places. */
export function ExplainedAround({ explanation }: { readonly explanation: Explanation }) {
  const { regions, regionsNote, place, placesNote } = explanation
  return (
    <>
      {place && <ExplainedPlace place={place} />}
      {regions && regions.length > 0 && (
        <section class="card" aria-label="Regions">
          <header>
            <h2>Regions</h2>
          </header>
          <ul class="steps">
            {regions.map(({ type, outcome, reason, is }) => (
              <li key={type}>
                <Badge tone={outcome === 'changed' ? 'ok' : outcome === 'withheld' ? 'warn' : undefined}>
                  {type.replaceAll('_', ' ')}
                </Badge>
                <span>{reason}</span>
                <span class="mono">{is}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {[regionsNote, placesNote].map((note) => note && <p key={note}>{note}</p>)}
    </>
  )
}

function ExplainedPlace({ place }: { readonly place: NonNullable<Explanation['place']> }) {
  const { events, reason, candidates } = place
  return (
    <section class="card" aria-label="Place">
      <header>
        <h2>Place</h2>
        {events.map((type) => (
          <Badge key={type} tone="ok">
            {eventName(type)}
          </Badge>
        ))}
      </header>
      <div class="body">
        <p>{reason}</p>
      </div>
      <ol class="steps">
        {candidates.map(({ place: { _id, name, categories }, distance }, i) => (
          <li key={_id}>
            <span class="number-sign">{i + 1}</span>
            <span>
              <strong>{name}</strong> <span class="quiet">{categories.at(-1)}</span>
            </span>
            <span class="quiet">
              {distance <= 0 ? `${metersText(-distance)} inside` : `${metersText(distance)} outside`}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}
