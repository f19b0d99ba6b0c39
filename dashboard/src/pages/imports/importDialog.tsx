import { useState } from 'preact/hooks'
import type { AnswerOf } from '../../../../sdk/src/types.ts'
import { call, CallFailure } from '../../api/call.ts'
import { Button, Dialog, Failure } from '../../ui/parts.tsx'
import { Table } from '../../ui/table.tsx'
import { say } from '../../ui/toast.tsx'
import { countText } from '../../ui/words.ts'

type Import = AnswerOf<'/v1/imports/geofences/{id}', 'get'>['import']

const POLL_MS = 400
const SHOWN_ERRORS = 100

/** A CSV file, checked first without changing anything, then imported. */
export function ImportDialog(props: {
  readonly kind: 'geofences' | 'beacons'
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const { kind, onClose, onDone } = props
  const [file, setFile] = useState<File | undefined>()
  const [result, setResult] = useState<Import | undefined>()
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const run = async (chosen: File, dryRun: boolean) => {
    setBusy(true)
    setFailure(undefined)
    try {
      const done = await importFile(kind, chosen, dryRun, setResult)
      setResult(done)
      if (!dryRun) {
        say(
          `${countText(done.created)} created, ${countText(done.updated)} updated, ${countText(done.refused)} refused.`,
        )
        onDone()
      }
    } catch (error) {
      setFailure(error as CallFailure)
    } finally {
      setBusy(false)
    }
  }
  const choose = (chosen: File | undefined) => {
    setFile(chosen)
    setResult(undefined)
    if (chosen !== undefined) void run(chosen, true)
  }
  const good = result === undefined ? 0 : result.rows - result.refused
  return (
    <Dialog title={`Import ${kind}`} onClose={onClose}>
      <p>
        A CSV file with a header. It is checked first, and nothing changes until you import it. The{' '}
        <a href="/docs/guides/importing">guide</a> has the columns.
      </p>
      <label
        class="drop"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault()
          choose(event.dataTransfer?.files[0])
        }}
      >
        <span>{file ? file.name : 'Drop a CSV file here, or choose one'}</span>
        <input
          type="file"
          accept=".csv,text/csv"
          onChange={(event) => choose(event.currentTarget.files?.[0])}
        />
      </label>
      {failure && <Failure failure={failure} />}
      {result && (
        <p role="status">
          {result.status === 'running' ? 'Reading: ' : ''}
          {countText(result.rows)} rows, {countText(result.created)} new, {countText(result.updated)} known,{' '}
          {countText(result.refused)} refused. {result.dryRun ? 'Nothing was changed yet.' : 'Imported.'}{' '}
          {result.interruption?.message}
        </p>
      )}
      {result?.errors !== undefined && result.errors.length > 0 && (
        <Table
          caption="Refused rows"
          rows={result.errors.slice(0, SHOWN_ERRORS)}
          keyOf={({ line, column }) => `${line} ${column}`}
          columns={[
            { title: 'Line', kind: 'number', cell: ({ line }) => line },
            { title: 'Column', cell: ({ column }) => column ?? '' },
            { title: 'What is wrong', cell: ({ message }) => message },
            { title: 'Value', kind: 'cut', cell: ({ value }) => value ?? '' },
          ]}
        />
      )}
      <div class="actions">
        <Button onClick={onClose}>Close</Button>
        <Button
          kind="primary"
          disabled={isBusy || file === undefined || !result?.dryRun || good === 0}
          onClick={() => void run(file!, false)}
        >
          {isBusy ? 'Working …' : `Import ${countText(good)}${result ? ` of ${countText(result.rows)}` : ''}`}
        </Button>
      </div>
    </Dialog>
  )
}

async function importFile(
  kind: 'geofences' | 'beacons',
  file: File,
  dryRun: boolean,
  onProgress: (state: Import) => void,
): Promise<Import> {
  const query = { fileName: file.name, ...(dryRun && { dryRun: true }) }
  const begun =
    kind === 'geofences'
      ? await call('post', '/v1/imports/geofences', { query, body: file })
      : await call('post', '/v1/imports/beacons', { query, body: file })
  let state = begun.import as Import
  // A check is complete with its answer, and is in no history.
  if (dryRun) return state
  const params = { id: state._id }
  // The list of refused rows is in the answer about a single import.
  do {
    const answer =
      kind === 'geofences'
        ? await call('get', '/v1/imports/geofences/{id}', { params })
        : await call('get', '/v1/imports/beacons/{id}', { params })
    state = answer.import as Import
    onProgress(state)
    if (state.status === 'running') await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  } while (state.status === 'running')
  return state
}
