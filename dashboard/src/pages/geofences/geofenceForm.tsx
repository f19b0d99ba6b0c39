import { useState } from 'preact/hooks'
import type { CallFailure } from '../../api/call.ts'
import type { LngLat } from '../../map/geometry.ts'
import { CheckField, SelectField, TextArea, TextField } from '../../ui/fields.tsx'
import { Failure, Segments } from '../../ui/parts.tsx'
import { DAYS, type GeofenceDraft } from './geofenceDraft.ts'
import { cornersOf, cornersText, isSameRing, ringTrouble } from './corners.ts'
import { HoursGrid } from './hoursGrid.tsx'

/** Fields at which an error of the server is shown; others stand above the form. */
const FIELDS =
  /^(description|tag|externalId|coordinates|radius|mode|userIds|ip|dwellThreshold|disableAfter|deleteAfter|metadata|operatingHours)\b/

export function GeofenceForm(props: {
  readonly draft: GeofenceDraft
  readonly failure: CallFailure | undefined
  readonly onChange: (changes: Partial<GeofenceDraft>) => void
}) {
  const { draft, failure, onChange } = props
  const field = failure?.param === undefined ? undefined : FIELDS.exec(failure.param)?.[1]
  const wrong = (name: string) => (field === name ? failure!.message : undefined)
  const isPolygon = draft.type === 'polygon'
  return (
    <form class="form card" onSubmit={(event) => event.preventDefault()} style={{ padding: '16px' }}>
      {failure && field === undefined && <Failure failure={failure} />}
      <Segments
        label="Shape"
        value={draft.type}
        options={[
          ['circle', 'Circle'],
          ['polygon', 'Polygon'],
          ['isochrone', 'Travel time'],
        ]}
        onChange={(type) => onChange({ type, ...(type === 'isochrone' && { radius: '10' }) })}
      />
      <TextField
        label="Name"
        value={draft.description}
        wrong={wrong('description')}
        onInput={(description) => onChange({ description })}
      />
      <div class="pair">
        <TextField
          label="Tag"
          help="Groups geofences: depot, store."
          value={draft.tag}
          wrong={wrong('tag')}
          onInput={(tag) => onChange({ tag })}
        />
        <TextField
          label="Your id"
          help="Unique within the tag."
          value={draft.externalId}
          wrong={wrong('externalId')}
          onInput={(externalId) => onChange({ externalId })}
        />
      </div>
      {isPolygon ? (
        <CornersField
          ring={draft.ring}
          wrong={wrong('coordinates')}
          onChange={(ring) => onChange({ ring })}
        />
      ) : (
        <div class="pair">
          <TextField
            label="Latitude"
            value={draft.latitude}
            wrong={wrong('coordinates')}
            onInput={(latitude) => onChange({ latitude })}
          />
          <TextField
            label="Longitude"
            value={draft.longitude}
            onInput={(longitude) => onChange({ longitude })}
          />
          <TextField
            label={draft.type === 'circle' ? 'Radius in metres' : 'Minutes of travel'}
            help={draft.type === 'circle' ? '10 to 10,000' : '1 to 120'}
            value={draft.radius}
            wrong={wrong('radius')}
            onInput={(radius) => onChange({ radius })}
          />
        </div>
      )}
      {draft.type === 'isochrone' && (
        <SelectField
          label="By"
          value={draft.mode}
          wrong={wrong('mode')}
          options={['car', 'truck', 'foot', 'bike', 'motorbike'].map((mode) => [mode, mode] as const)}
          onChange={(mode) => onChange({ mode })}
        />
      )}
      <CheckField
        label="On: it causes events"
        checked={draft.enabled}
        onChange={(enabled) => onChange({ enabled })}
      />
      <details open={Object.keys(draft.hours).length > 0 || field === 'operatingHours'}>
        <summary>Opening hours</summary>
        <p class="quiet">Without any, it is always open. Several spans of a day are divided by commas.</p>
        {wrong('operatingHours') && (
          <p class="notice bad" role="alert">
            {wrong('operatingHours')}
          </p>
        )}
        <HoursGrid
          hours={draft.hours}
          onChange={(day, text) => onChange({ hours: { ...draft.hours, [day]: text } })}
        />
        <table class="hours">
          <tbody>
            {DAYS.map((day) => (
              <tr key={day}>
                <th scope="row">{day}</th>
                <td>
                  <input
                    class="input"
                    aria-label={`Hours on ${day}`}
                    placeholder="closed, or 08:00-18:00"
                    value={draft.hours[day] ?? ''}
                    onInput={(event) =>
                      onChange({ hours: { ...draft.hours, [day]: event.currentTarget.value } })
                    }
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
      <details
        open={['userIds', 'ip', 'dwellThreshold', 'disableAfter', 'deleteAfter'].includes(field ?? '')}
      >
        <summary>Restrictions and dates</summary>
        <div class="form">
          <TextField
            label="Only these user ids"
            help="Divided by commas; empty: everybody."
            value={draft.userIds}
            wrong={wrong('userIds')}
            onInput={(userIds) => onChange({ userIds })}
          />
          <TextField
            label="Only these IP addresses"
            help="Addresses, wildcards or ranges."
            value={draft.ip}
            wrong={wrong('ip')}
            onInput={(ip) => onChange({ ip })}
          />
          <div class="pair">
            <TextField
              label="Dwell after minutes"
              value={draft.dwellThreshold}
              wrong={wrong('dwellThreshold')}
              onInput={(dwellThreshold) => onChange({ dwellThreshold })}
            />
            <TextField
              label="Off after"
              help="2026-12-24T18:00:00Z"
              value={draft.disableAfter}
              wrong={wrong('disableAfter')}
              onInput={(disableAfter) => onChange({ disableAfter })}
            />
            <TextField
              label="Delete after"
              help="2026-12-24T18:00:00Z"
              value={draft.deleteAfter}
              wrong={wrong('deleteAfter')}
              onInput={(deleteAfter) => onChange({ deleteAfter })}
            />
          </div>
        </div>
      </details>
      <TextArea
        label="Metadata"
        help="A line each, name: value. Up to 16."
        value={draft.metadata}
        wrong={wrong('metadata')}
        rows={3}
        onInput={(metadata) => onChange({ metadata })}
      />
    </form>
  )
}

/** The corners that are drawn on the map, to be read and typed. */
function CornersField(props: {
  readonly ring: readonly LngLat[]
  readonly wrong: string | undefined
  readonly onChange: (ring: readonly LngLat[]) => void
}) {
  const { ring, wrong, onChange } = props
  const [typed, setTyped] = useState('')
  // What was typed stays as it is, until the map has other corners.
  const text = isSameRing(cornersOf(typed), ring) ? typed : cornersText(ring)
  return (
    <TextArea
      label="Corners"
      help={`${Math.max(0, ring.length - 1)} of at most 1,999. Draw them on the map, or type a line each: latitude, longitude.`}
      value={text}
      wrong={wrong ?? ringTrouble(ring)}
      rows={5}
      onInput={(next) => {
        setTyped(next)
        onChange(cornersOf(next))
      }}
    />
  )
}
