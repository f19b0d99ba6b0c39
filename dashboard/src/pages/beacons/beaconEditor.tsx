import { useState } from 'preact/hooks'
import type { AnswerOf } from '../../../../sdk/src/types.ts'
import { call, CallFailure } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import type { LngLat } from '../../map/geometry.ts'
import { go, pagePath } from '../../router.ts'
import { may } from '../../session/session.ts'
import { usePageKey } from '../../shell/keys.tsx'
import { CallButton } from '../../ui/code.tsx'
import { CheckField, TextArea, TextField } from '../../ui/fields.tsx'
import { Button, Dialog, Failure, LinkButton, Loading, Segments } from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import { metadataOf, metadataText } from '../../ui/metadata.ts'
import { MarkMap } from '../maps/markMap.tsx'

export type Beacon = AnswerOf<'/v1/beacons/{id}', 'get'>['beacon']

const FIELDS = /^(description|tag|externalId|coordinates|uuid|major|minor|uid|instance|metadata)\b/

/** A beacon as the form has it: texts, until the server reads them. */
interface Draft {
  readonly type: 'ibeacon' | 'eddystone'
  readonly description: string
  readonly tag: string
  readonly externalId: string
  readonly latitude: string
  readonly longitude: string
  readonly uuid: string
  readonly major: string
  readonly minor: string
  readonly uid: string
  readonly instance: string
  readonly enabled: boolean
  readonly metadata: string
}

/** Making a beacon, or changing one: a click on the map places it. */
export function BeaconEditor({ id }: { readonly id: string | undefined }) {
  const { data, failure, reload } = useQuery(`beacon ${id}`, async (signal) =>
    id === undefined ? null : (await call('get', '/v1/beacons/{id}', { params: { id }, signal })).beacon,
  )
  if (failure)
    return (
      <div class="page">
        <Failure failure={failure} retry={reload} />
      </div>
    )
  return data === undefined ? <Loading /> : <Editor id={id} initial={draftOf(data)} />
}

function Editor({ id, initial }: { readonly id: string | undefined; readonly initial: Draft }) {
  const [draft, setDraft] = useState(initial)
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const [isDeleting, setDeleting] = useState(false)
  const canWrite = may('POST /v1/beacons')
  const change = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }))
  usePageKey('Escape', () => go(pagePath('beacons')))
  const save = async () => {
    setFailure(undefined)
    try {
      const body = definitionOf(draft) as never
      const { beacon } =
        id === undefined
          ? await call('post', '/v1/beacons', { body })
          : await call('put', '/v1/beacons/{id}', { params: { id }, body })
      say(`${beacon.description} was saved.`)
      go(pagePath('beacons'))
    } catch (error) {
      setFailure(error as CallFailure)
    }
  }
  const remove = async () => {
    try {
      await call('delete', '/v1/beacons/{id}', { params: { id: id! } })
      say(`${initial.description} was deleted.`)
      go(pagePath('beacons'))
    } catch (error) {
      setDeleting(false)
      setFailure(error as CallFailure)
    }
  }
  const at = pointOf(draft)
  return (
    <div class="page">
      <header>
        <LinkButton href={pagePath('beacons')} kind="plain" icon="back">
          Beacons
        </LinkButton>
        <h1>{id === undefined ? 'New beacon' : initial.description}</h1>
        <CallButton
          call={{
            method: id === undefined ? 'POST' : 'PUT',
            path: id === undefined ? '/v1/beacons' : `/v1/beacons/${id}`,
            body: definitionOf(draft),
          }}
        />
        {id !== undefined && canWrite && (
          <Button kind="danger" icon="trash" onClick={() => setDeleting(true)}>
            Delete
          </Button>
        )}
        {canWrite && (
          <Button kind="primary" onClick={() => void save()}>
            Save
          </Button>
        )}
      </header>
      {!canWrite && (
        <p class="notice">Your role may look at beacons. Somebody with the role write can change them.</p>
      )}
      <div class="split">
        <BeaconForm draft={draft} failure={failure} onChange={change} />
        <div class="stack">
          <MarkMap
            label="The beacon on the map"
            height={520}
            fitKey={id ?? 'new'}
            isHome={id === undefined}
            marks={
              at === undefined
                ? []
                : [{ shape: 'point', color: 'fence', at, isStrong: true, name: draft.description }]
            }
            onClick={([longitude, latitude]) =>
              change({ latitude: latitude.toFixed(6), longitude: longitude.toFixed(6) })
            }
          />
          <span class="quiet">Click on the map to place it.</span>
        </div>
      </div>
      {isDeleting && (
        <Dialog title={`Delete ${initial.description}?`} onClose={() => setDeleting(false)}>
          <p>Devices near it leave it without an event. Its past events stay. This cannot be undone.</p>
          <div class="actions">
            <Button onClick={() => setDeleting(false)}>Keep it</Button>
            <Button kind="danger" onClick={() => void remove()}>
              Delete
            </Button>
          </div>
        </Dialog>
      )}
    </div>
  )
}

function BeaconForm(props: {
  readonly draft: Draft
  readonly failure: CallFailure | undefined
  readonly onChange: (changes: Partial<Draft>) => void
}) {
  const { draft, failure, onChange } = props
  const field = failure?.param === undefined ? undefined : FIELDS.exec(failure.param)?.[1]
  const text = (name: Exclude<keyof Draft, 'enabled' | 'type'>, label: string, help?: string) => (
    <TextField
      label={label}
      help={help}
      value={draft[name]}
      wrong={field === name ? failure!.message : undefined}
      onInput={(value) => onChange({ [name]: value })}
    />
  )
  return (
    <form class="form card" onSubmit={(event) => event.preventDefault()} style={{ padding: '16px' }}>
      {failure && field === undefined && <Failure failure={failure} />}
      <Segments
        label="Kind"
        value={draft.type}
        options={[
          ['ibeacon', 'iBeacon'],
          ['eddystone', 'Eddystone'],
        ]}
        onChange={(type) => onChange({ type })}
      />
      {text('description', 'Name')}
      <div class="pair">
        {text('tag', 'Tag', 'Groups beacons: shelf, door.')}
        {text('externalId', 'Your id', 'Unique within the tag.')}
      </div>
      {draft.type === 'ibeacon' ? (
        <>
          {text('uuid', 'UUID', '32 hexadecimal digits, with or without dashes.')}
          <div class="pair">
            {text('major', 'Major', '0 to 65,535')}
            {text('minor', 'Minor', '0 to 65,535')}
          </div>
        </>
      ) : (
        <div class="pair">
          {text('uid', 'Namespace', '20 hexadecimal digits.')}
          {text('instance', 'Instance', '12 hexadecimal digits.')}
        </div>
      )}
      <div class="pair">
        <TextField
          label="Latitude"
          value={draft.latitude}
          wrong={field === 'coordinates' ? failure!.message : undefined}
          onInput={(latitude) => onChange({ latitude })}
        />
        {text('longitude', 'Longitude')}
      </div>
      <CheckField
        label="On: it causes events"
        checked={draft.enabled}
        onChange={(enabled) => onChange({ enabled })}
      />
      <TextArea
        label="Metadata"
        help="Lines of name: value."
        value={draft.metadata}
        wrong={field === 'metadata' ? failure!.message : undefined}
        onInput={(metadata) => onChange({ metadata })}
      />
    </form>
  )
}

function draftOf(beacon: Beacon | null): Draft {
  const { type = 'ibeacon', geometry, enabled = true, metadata } = beacon ?? {}
  return {
    type,
    description: beacon?.description ?? '',
    tag: beacon?.tag ?? '',
    externalId: beacon?.externalId ?? '',
    latitude: String(geometry?.coordinates[1] ?? ''),
    longitude: String(geometry?.coordinates[0] ?? ''),
    uuid: beacon?.uuid ?? '',
    major: beacon?.major ?? '',
    minor: beacon?.minor ?? '',
    uid: beacon?.uid ?? '',
    instance: beacon?.instance ?? '',
    enabled,
    metadata: metadataText(metadata),
  }
}

/** What is sent. What is wrong with it, the server says. */
function definitionOf(draft: Draft) {
  const { type, description, tag, externalId, enabled, uuid, major, minor, uid, instance } = draft
  const metadata = metadataOf(draft.metadata)
  return {
    type,
    description,
    enabled,
    coordinates: [numberOf(draft.longitude), numberOf(draft.latitude)],
    ...(tag && { tag }),
    ...(externalId && { externalId }),
    ...(type === 'ibeacon' ? { uuid, major, minor } : { uid, instance }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

function pointOf({ latitude, longitude }: Draft): LngLat | undefined {
  const at: LngLat = [Number(longitude), Number(latitude)]
  if (longitude.trim() === '' || latitude.trim() === '' || !at.every(Number.isFinite)) return undefined
  return Math.abs(at[1]) > 90 ? undefined : at
}

/** A text that is not a number stays one, so that the server names the field. */
function numberOf(text: string): number | string {
  return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
}
