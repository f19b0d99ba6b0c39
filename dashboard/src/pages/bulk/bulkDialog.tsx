import { useState } from 'preact/hooks'
import { call, type CallFailure } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { TextField } from '../../ui/fields.tsx'
import { Button, Dialog, Failure, Loading, Segments } from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import { countText } from '../../ui/words.ts'

const WORK = [
  ['on', 'Turn on'],
  ['off', 'Turn off'],
  ['delete', 'Delete'],
] as const
type Work = (typeof WORK)[number][0]

/** Kinds of records that can be changed by a filter. */
type Kind = 'geofences' | 'beacons'

/**
 * Changes or deletes all records that a filter of the list matches. The person types how many these are, and the server
 * refuses if another number matches by then.
 */
export function BulkDialog(props: {
  readonly kind: Kind
  readonly filter: { readonly text?: string; readonly tag?: string }
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const { kind, filter, onClose, onDone } = props
  const [work, setWork] = useState<Work>('off')
  const [count, setCount] = useState('')
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const [isBusy, setBusy] = useState(false)
  const matching = useQuery(`matching ${kind} ${JSON.stringify(filter)}`, async (signal) => {
    const query = { ...filter, limit: 1, includeTotal: true }
    const { meta } =
      kind === 'geofences'
        ? await call('get', '/v1/geofences', { query, signal })
        : await call('get', '/v1/beacons', { query, signal })
    return meta.total ?? 0
  })
  const isEverything = Object.keys(filter).length === 0
  const isAtField = failure?.param === 'expectedCount'
  const act = async (event: Event) => {
    event.preventDefault()
    setFailure(undefined)
    setBusy(true)
    // A text that is not a number is sent as it is, so that the server says what is wrong with it.
    const query = {
      ...filter,
      expectedCount: count.trim() as unknown as number,
      ...(isEverything && { all: true }),
    }
    try {
      const { count: done } =
        work === 'delete'
          ? await call('delete', `/v1/${kind}`, { query })
          : await call('patch', `/v1/${kind}`, { query, body: { enabled: work === 'on' } })
      const text = done === 1 ? `1 ${kind.slice(0, -1)} was` : `${countText(done)} ${kind} were`
      say(`${text} ${work === 'delete' ? 'deleted' : `turned ${work}`}.`)
      onDone()
      onClose()
    } catch (error) {
      setFailure(error as CallFailure)
      matching.reload()
    }
    setBusy(false)
  }
  return (
    <Dialog title="Change all that match" onClose={onClose}>
      {matching.failure && <Failure failure={matching.failure} retry={() => matching.reload()} />}
      {matching.data === undefined && !matching.failure && <Loading lines={1} />}
      {matching.data !== undefined && (
        <form class="form" onSubmit={(event) => void act(event)}>
          <p>
            {isEverything
              ? `There is no filter: all ${countText(matching.data)} ${kind} of this environment match.`
              : `${countText(matching.data)} match the filter of the list, also those that are not shown yet.`}
          </p>
          <Segments label="What to do" value={work} options={WORK} onChange={setWork} />
          <TextField
            label="How many"
            help={`Type ${matching.data} to confirm.${work === 'delete' ? ` What is deleted is in the audit.` : ''}`}
            value={count}
            wrong={isAtField ? failure.message : undefined}
            onInput={setCount}
            required
          />
          {failure && !isAtField && <Failure failure={failure} />}
          <div class="actions">
            <Button onClick={onClose}>Cancel</Button>
            <Button kind={work === 'delete' ? 'danger' : 'primary'} type="submit" disabled={isBusy}>
              {WORK.find(([value]) => value === work)![1]}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  )
}
