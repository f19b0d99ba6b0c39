import { useState } from 'preact/hooks'
import type { Settings } from '../../../../sdk/src/types.ts'
import { call, CallFailure } from '../../api/call.ts'
import { apiDocument, type JsonSchema } from '../../api/document.ts'
import { useQuery } from '../../api/useQuery.ts'
import { may } from '../../session/session.ts'
import { CallButton } from '../../ui/code.tsx'
import { CheckField, TextArea, TextField } from '../../ui/fields.tsx'
import { Button, Failure, Loading } from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import { TestMail } from './testMail.tsx'

type Values = Record<string, unknown>

const NOTIFICATIONS = 'Notifications'

/** The settings in groups; what is in none is below the others. */
const GROUPS: readonly (readonly [title: string, pattern: RegExp])[] = [
  ['Confidence and delays', /^(minimumConfidence|entryDelaySeconds|exitDelaySeconds|maxAccuracyMeters)$/],
  ['Geofences', /^(stopDetection|buffer|restrictTo|dwell|detectCrossings|maxGap)/],
  ['Regions and countries', /^(region|blockedCountries|allowedCountries)/],
  ['Trips', /^trip/],
  ['Fraud', /^fraud$/],
  ['Beacons', /^beacon/],
  [NOTIFICATIONS, /^notification/],
  ['Places', /./],
]

/** The settings of the environment, each with its sentence from the OpenAPI document. */
export default function SettingsPage() {
  const { data, failure, reload } = useQuery('settings', (signal) => call('get', '/v1/settings', { signal }))
  if (failure)
    return (
      <div class="page">
        <Failure failure={failure} retry={reload} />
      </div>
    )
  if (data === undefined) return <Loading />
  return <Form settings={data.settings} onSaved={reload} />
}

function Form({ settings, onSaved }: { readonly settings: Settings; readonly onSaved: () => void }) {
  const [changes, setChanges] = useState<Values>({})
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const [isBusy, setBusy] = useState(false)
  const canChange = may('PATCH /v1/settings')
  const schema = apiDocument.value?.components.schemas.Settings?.properties ?? {}
  const values = { ...settings, ...changes } as Values
  const changed = Object.keys(changes)
  const set = (name: string, value: unknown) => {
    const { [name]: _, ...others } = changes
    const isBack = JSON.stringify(value) === JSON.stringify((settings as Values)[name])
    setChanges(isBack ? others : { ...others, [name]: value })
  }
  const save = async () => {
    setBusy(true)
    setFailure(undefined)
    try {
      await call('patch', '/v1/settings', { body: changes as never })
      say('The settings were saved. They count from the next update on.')
      setChanges({})
      onSaved()
    } catch (error) {
      setFailure(error as CallFailure)
    } finally {
      setBusy(false)
    }
  }
  const left = new Set(Object.keys(schema))
  return (
    <div class="page settings">
      <header>
        <h1>Settings</h1>
        <CallButton call={{ method: 'PATCH', path: '/v1/settings', body: changes }} />
        {changed.length > 0 && (
          <>
            <Button onClick={() => setChanges({})}>Discard</Button>
            <Button kind="primary" disabled={isBusy} onClick={() => void save()}>
              Save {changed.length === 1 ? 'the change' : `${changed.length} changes`}
            </Button>
          </>
        )}
      </header>
      {!canChange && <p class="notice">Your role may look at settings. An admin can change them.</p>}
      {failure && failure.param === undefined && <Failure failure={failure} />}
      {GROUPS.map(([title, pattern]) => {
        const names = [...left].filter((name) => pattern.test(name))
        for (const name of names) left.delete(name)
        return (
          names.length > 0 && (
            <section key={title} class="card" aria-label={title}>
              <header>
                <h2>{title}</h2>
              </header>
              <div class="body form">
                {names.map((name) => (
                  <Setting
                    key={name}
                    name={name}
                    schema={schema[name]!}
                    value={values[name]}
                    wrong={failure?.param?.split(/[.[]/, 1)[0] === name ? failure.message : undefined}
                    isDisabled={!canChange}
                    onChange={(value) => set(name, value)}
                  />
                ))}
                {title === NOTIFICATIONS && may('POST /v1/notifications/test') && (
                  <TestMail first={settings.notificationEmails[0] ?? ''} />
                )}
              </div>
            </section>
          )
        )
      })}
    </div>
  )
}

function Setting(props: {
  readonly name: string
  readonly schema: JsonSchema
  readonly value: unknown
  readonly wrong: string | undefined
  readonly isDisabled: boolean
  readonly onChange: (value: unknown) => void
}) {
  const { name, schema, value, wrong, isDisabled, onChange } = props
  const label = labelOf(name)
  const help = schema.description
  const isNullable = schema.anyOf?.some(({ type }) => type === 'null') ?? false
  if (schema.type === 'boolean')
    return (
      <div class="field">
        <CheckField label={label} checked={value === true} disabled={isDisabled} onChange={onChange} />
        <span class="help">{help}</span>
        {wrong && <span class="wrong">{wrong}</span>}
      </div>
    )
  if (schema.type === 'array')
    return (
      <TextField
        label={label}
        help={`${help ?? ''} Divided by commas.`}
        wrong={wrong}
        disabled={isDisabled}
        value={(value as readonly unknown[]).join(', ')}
        onInput={(text) => onChange(text.trim() === '' ? [] : text.split(',').map((item) => item.trim()))}
      />
    )
  if (schema.type === 'object') return <JsonSetting {...props} label={label} />
  return (
    <TextField
      label={label}
      help={help}
      wrong={wrong}
      disabled={isDisabled}
      value={value === null || value === undefined ? '' : String(value)}
      placeholder={isNullable ? 'none' : ''}
      onInput={(text) => {
        if (text.trim() === '' && isNullable) return onChange(null)
        onChange(text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text))
      }}
    />
  )
}

/** A setting with members of its own, as JSON; half a text is not sent. */
function JsonSetting(props: {
  readonly label: string
  readonly schema: JsonSchema
  readonly value: unknown
  readonly wrong: string | undefined
  readonly onChange: (value: unknown) => void
}) {
  const { label, schema, value, wrong, onChange } = props
  const [text, setText] = useState(JSON.stringify(value, null, 2))
  const [problem, setProblem] = useState<string | undefined>()
  return (
    <TextArea
      label={label}
      help={schema.description}
      wrong={wrong ?? problem}
      rows={Math.min(10, text.split('\n').length + 1)}
      value={text}
      onInput={(next) => {
        setText(next)
        try {
          onChange(JSON.parse(next))
          setProblem(undefined)
        } catch {
          setProblem('This is not JSON yet.')
        }
      }}
    />
  )
}

/** The label of a setting: `exitDelaySeconds` becomes `Exit delay seconds`. */
function labelOf(name: string): string {
  const words = name.replaceAll(/([A-Z])/g, ' $1').toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}
