import { addressOf, call } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { pagePath } from '../../router.ts'
import { CallButton, Code } from '../../ui/code.tsx'
import { Ago, Failure, LinkButton, Loading } from '../../ui/parts.tsx'
import { eventName, metersText, userName } from '../../ui/words.ts'
import { Confidence, EventSign, subjectName } from './eventLine.tsx'
import { SubjectFacts } from './subjectFacts.tsx'

/** One event, with its record as the API gives it. */
export function EventPage({ id }: { readonly id: string }) {
  const params = { id }
  const { data, failure, reload } = useQuery(`event ${id}`, (signal) =>
    call('get', '/v1/events/{id}', { params, signal }),
  )
  const event = data?.event
  if (failure)
    return (
      <div class="page">
        <Failure failure={failure} retry={reload} />
      </div>
    )
  if (event === undefined) return <Loading />
  return (
    <div class="page">
      <header>
        <LinkButton href={pagePath('events')} kind="plain" icon="back">
          Events
        </LinkButton>
        <EventSign type={event.type} />
        <h1>
          {eventName(event.type)} {subjectName(event)}
        </h1>
        <CallButton call={{ method: 'GET', path: addressOf('/v1/events/{id}', { params }) }} />
      </header>
      <div class="split">
        <section class="card" aria-label="What happened">
          <header>
            <h2>What happened</h2>
          </header>
          <div class="body">
            <dl class="facts">
              <dt>When</dt>
              <dd>
                <Ago at={event.createdAt} />{' '}
                <span class="quiet">{new Date(event.createdAt).toLocaleString()}</span>
              </dd>
              <dt>User</dt>
              <dd>
                <a href={pagePath(`users/${event.user._id}`)}>{userName(event.user)}</a>
              </dd>
              <SubjectFacts event={event} />
              <dt>Confidence</dt>
              <dd>
                <Confidence value={event.confidence} />
              </dd>
              {event.duration !== undefined && (
                <>
                  <dt>Stayed</dt>
                  <dd>{event.duration.toFixed(1)} min</dd>
                </>
              )}
              {event.locationAccuracy !== undefined && (
                <>
                  <dt>Accuracy</dt>
                  <dd>{metersText(event.locationAccuracy)}</dd>
                </>
              )}
              {event.replayed && (
                <>
                  <dt>Replayed</dt>
                  <dd>yes, recorded earlier</dd>
                </>
              )}
            </dl>
          </div>
        </section>
        <section class="card" aria-label="Record">
          <header>
            <h2>Record</h2>
          </header>
          <div class="body">
            <Code text={JSON.stringify(event, null, 2)} label="Copy as JSON" />
          </div>
        </section>
      </div>
    </div>
  )
}
