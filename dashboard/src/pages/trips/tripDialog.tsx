import { useState } from 'preact/hooks'
import { call, CallFailure } from '../../api/call.ts'
import { SelectField, TextArea, TextField } from '../../ui/fields.tsx'
import { Button, Dialog, Failure } from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import type { Trip } from './tripWords.ts'

const FIELDS = /^(externalId|userId|destination|mode|approachingThreshold|scheduledArrivalAt|metadata|legs)/
const MODES = ['car', 'truck', 'foot', 'bike', 'motorbike'] as const

/** A trip as the form has it: texts, until the server reads them. */
interface Draft {
  readonly externalId: string
  readonly userId: string
  /** The destination as `tag/externalId`, or several stops, one on each line. */
  readonly stops: string
  readonly mode: string
  readonly approachingThreshold: string
  readonly scheduledArrivalAt: string
}

/** Starting a trip, or changing one. */
export function TripDialog(props: {
  readonly trip?: Trip
  readonly onClose: () => void
  readonly onSaved: (trip: Pick<Trip, '_id'>) => void
}) {
  const { trip, onClose, onSaved } = props
  const [draft, setDraft] = useState<Draft>(() => draftOf(trip))
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const change = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }))
  const field = failure?.param === undefined ? undefined : FIELDS.exec(failure.param)?.[1]
  const wrong = (name: string) => (field === name ? failure!.message : undefined)
  const save = async (event: Event) => {
    event.preventDefault()
    setFailure(undefined)
    try {
      const body = bodyOf(draft, trip)
      const answer =
        trip === undefined
          ? await call('post', '/v1/trips', { body: { externalId: draft.externalId, ...body } as never })
          : await call('patch', '/v1/trips/{id}', { params: { id: trip._id }, body: body as never })
      say(
        trip === undefined
          ? `Trip ${draft.externalId} waits for its first location.`
          : 'The trip was changed.',
      )
      onSaved(answer.trip)
    } catch (error) {
      setFailure(error as CallFailure)
    }
  }
  return (
    <Dialog title={trip === undefined ? 'New trip' : `Change ${trip.externalId}`} onClose={onClose}>
      <form class="form" onSubmit={(event) => void save(event)}>
        {trip === undefined && (
          <TextField
            label="Your id"
            help="Such as the number of the order. Only one trip under way has it."
            value={draft.externalId}
            wrong={wrong('externalId')}
            onInput={(externalId) => change({ externalId })}
            autofocus
          />
        )}
        <TextField
          label="User id"
          help="Whose locations move it. An app can also name the trip in its updates."
          value={draft.userId}
          disabled={trip?.userId !== undefined}
          wrong={wrong('userId')}
          onInput={(userId) => change({ userId })}
        />
        <TextArea
          label="Destination"
          help="A geofence as tag/id, “latitude, longitude”, or an address. Several lines are stops in this order."
          placeholder={'store/42\n-34.9059, -56.1913'}
          rows={3}
          value={draft.stops}
          wrong={wrong('destination') ?? wrong('legs')}
          onInput={(stops) => change({ stops })}
        />
        <div class="pair">
          <SelectField
            label="By"
            value={draft.mode}
            wrong={wrong('mode')}
            options={MODES.map((mode) => [mode, mode] as const)}
            onChange={(mode) => change({ mode })}
          />
          <TextField
            label="Approaching, minutes before"
            value={draft.approachingThreshold}
            placeholder="as in the settings"
            wrong={wrong('approachingThreshold')}
            onInput={(approachingThreshold) => change({ approachingThreshold })}
          />
          <TextField
            label="Planned arrival"
            type="datetime-local"
            value={draft.scheduledArrivalAt}
            wrong={wrong('scheduledArrivalAt')}
            onInput={(scheduledArrivalAt) => change({ scheduledArrivalAt })}
          />
        </div>
        {failure && field === undefined && <Failure failure={failure} />}
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit">
            {trip === undefined ? 'Create' : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function draftOf(trip: Trip | undefined): Draft {
  const { externalId = '', userId = '', mode = 'car', approachingThreshold, scheduledArrivalAt } = trip ?? {}
  const tag = trip?.destinationGeofenceTag
  return {
    externalId,
    userId,
    mode,
    // Stops are replaced as a whole, so the form begins with a destination alone.
    stops: tag === undefined || trip?.legs?.length ? '' : `${tag}/${trip!.destinationGeofenceExternalId}`,
    approachingThreshold: approachingThreshold === undefined ? '' : String(approachingThreshold),
    scheduledArrivalAt: scheduledArrivalAt === undefined ? '' : localText(new Date(scheduledArrivalAt)),
  }
}

/** The body to send. It is not checked here, because the server names the field that is wrong. */
function bodyOf(draft: Draft, trip: Trip | undefined) {
  const stops = draft.stops
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map(stopOf)
  const { userId, mode, approachingThreshold, scheduledArrivalAt } = draft
  const [only] = stops
  const isSingle = stops.length === 1 && 'destinationGeofenceTag' in only! && !trip?.legs?.length
  return {
    mode,
    ...(userId && trip?.userId === undefined && { userId }),
    ...(isSingle ? only : stops.length > 0 && { legs: stops.map((destination) => ({ destination })) }),
    ...(approachingThreshold && { approachingThreshold }),
    ...(scheduledArrivalAt && { scheduledArrivalAt: isoText(scheduledArrivalAt) }),
  }
}

function stopOf(line: string): object {
  const point = /^(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)$/.exec(line)
  if (point !== null) return { coordinates: [Number(point[2]), Number(point[1])] }
  const pair = /^([^/\s,]+)\/(\S+)$/.exec(line)
  if (pair !== null) return { destinationGeofenceTag: pair[1], destinationGeofenceExternalId: pair[2] }
  return { address: line }
}

/** A time that the browser cannot read is sent as it is, so that the server names the field. */
function isoText(local: string): string {
  const time = new Date(local)
  return Number.isNaN(time.getTime()) ? local : time.toISOString()
}

function localText(time: Date): string {
  const shifted = new Date(time.getTime() - time.getTimezoneOffset() * 60_000)
  return shifted.toISOString().slice(0, 16)
}
