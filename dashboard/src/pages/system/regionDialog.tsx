import { useState } from 'preact/hooks'
import { call, type CallFailure } from '../../api/call.ts'
import { TextField } from '../../ui/fields.tsx'
import { Button, Dialog, Failure } from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import { bytesText } from './systemWords.ts'

/** Sends an extract. The list of imports shows how far it is. */
export function RegionDialog({ onClose }: { readonly onClose: () => void }) {
  const [file, setFile] = useState<File | undefined>()
  const [name, setName] = useState('')
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const [isBusy, setBusy] = useState(false)
  const choose = (chosen: File | undefined) => {
    setFile(chosen)
    setFailure(undefined)
    if (chosen !== undefined) setName(nameOf(chosen.name))
  }
  const send = async () => {
    setBusy(true)
    setFailure(undefined)
    const body = new Blob([file!], { type: 'application/octet-stream' })
    try {
      await call('put', '/v1/map-regions/{name}', { params: { name }, body: body as never })
      say(`${name} is being imported. The list says how far it is.`)
      onClose()
    } catch (error) {
      setFailure(error as CallFailure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog title="Import a region" onClose={onClose}>
      <p>
        An extract of OpenStreetMap, <code>.osm.pbf</code>. A region of the same name is replaced when the new
        one is complete.
      </p>
      <label
        class="drop"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault()
          choose(event.dataTransfer?.files[0])
        }}
      >
        <span>{file ? `${file.name}, ${bytesText(file.size)}` : 'Drop an extract here, or choose one'}</span>
        <input type="file" accept=".pbf" onChange={(event) => choose(event.currentTarget.files?.[0])} />
      </label>
      <TextField
        label="Name of the region"
        help="Small letters, digits, . _ and -"
        wrong={failure?.param === 'name' ? failure.message : undefined}
        value={name}
        onInput={setName}
      />
      {failure && failure.param !== 'name' && <Failure failure={failure} />}
      {isBusy && <progress aria-label="Sending the extract" />}
      <div class="actions">
        <Button onClick={onClose}>Close</Button>
        <Button
          kind="primary"
          disabled={isBusy || file === undefined || name === ''}
          onClick={() => void send()}
        >
          {isBusy ? 'Sending …' : 'Import'}
        </Button>
      </div>
    </Dialog>
  )
}

/** As the commands name a region: `Berlin-latest.osm.pbf` is `berlin`. */
function nameOf(fileName: string): string {
  return fileName
    .replace(/\.pbf$/i, '')
    .replace(/[.-]osm$/i, '')
    .replace(/-latest$/i, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 64)
}
