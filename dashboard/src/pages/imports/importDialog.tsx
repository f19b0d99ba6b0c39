import { useState } from 'preact/hooks'
import type { CallFailure } from '../../api/call.ts'
import { hasCall } from '../../api/document.ts'
import { pagePath } from '../../router.ts'
import { Button, Dialog, Failure } from '../../ui/parts.tsx'
import { Table } from '../../ui/table.tsx'
import { say } from '../../ui/toast.tsx'
import { countText } from '../../ui/words.ts'
import { CancelImport } from './cancelImport.tsx'
import { runImport, type Import, type ImportedKind } from './runImport.ts'

const SHOWN_ERRORS = 100

/** Whether this server reads GeoJSON in addition to CSV. */
export function readsGeoJson(kind: ImportedKind): boolean {
  return kind === 'geofences' && hasCall('POST /v1/imports/geofences/{id}/cancel')
}

/** A file, checked first without changing anything, then imported. */
export function ImportDialog(props: {
  readonly kind: ImportedKind
  /** A file that was dropped on the page. */
  readonly dropped?: File | undefined
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const { kind, dropped, onClose, onDone } = props
  const [file, setFile] = useState<File | undefined>()
  const [result, setResult] = useState<Import | undefined>()
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const run = async (chosen: File, dryRun: boolean) => {
    setBusy(true)
    setFailure(undefined)
    try {
      const done = await runImport(kind, chosen, dryRun, setResult)
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
  // The import begins once, with the file that opened the dialog.
  const [isBegun, setBegun] = useState(false)
  if (dropped !== undefined && !isBegun) {
    setBegun(true)
    choose(dropped)
  }
  const hasFeatures = readsGeoJson(kind)
  const formats = hasFeatures ? 'CSV or GeoJSON' : 'CSV'
  const good = result === undefined ? 0 : result.rows - result.refused
  return (
    <Dialog title={`Import ${kind}`} onClose={onClose}>
      <p>
        A {formats} file. It is checked first, and nothing changes until you import it. The{' '}
        <a href="/docs/guides/importing">guide</a> has the columns;{' '}
        <a href={pagePath('imports')}>earlier imports</a> are kept.
      </p>
      <label
        class="drop"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault()
          choose(event.dataTransfer?.files[0])
        }}
      >
        <span>{file ? file.name : `Drop a ${formats} file here, or choose one`}</span>
        <input
          type="file"
          accept={hasFeatures ? '.csv,.json,.geojson,text/csv' : '.csv,text/csv'}
          onChange={(event) => choose(event.currentTarget.files?.[0])}
        />
      </label>
      {failure && <Failure failure={failure} />}
      {isBusy && <progress aria-label="Reading the file" />}
      {result && <Result result={result} />}
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
        {isBusy && result?.status === 'running' && <CancelImport kind={kind} id={result._id} />}
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

function Result({ result }: { readonly result: Import }) {
  return (
    <p role="status">
      {result.status === 'running' ? 'Under way: ' : ''}
      {countText(result.rows)} rows, {countText(result.created)} new, {countText(result.updated)} known,{' '}
      {countText(result.refused)} refused. {result.dryRun && 'Nothing was changed yet.'}
      {result.status === 'completed' && !result.dryRun && 'Imported.'} {result.interruption?.message}
    </p>
  )
}
