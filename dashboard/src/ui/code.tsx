import { useState } from 'preact/hooks'
import { Button, Dialog, Segments } from './parts.tsx'
import { say } from './toast.tsx'

/** A text, with a button that copies it. */
export function Code({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  return (
    <div style={{ display: 'grid', gap: '8px' }}>
      <pre class="code" tabIndex={0}>
        {text}
      </pre>
      <div class="actions">
        <Button size="small" icon="copy" onClick={() => void copy(text)}>
          {label}
        </Button>
      </div>
    </div>
  )
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    say('Copied.')
  } catch {
    say('The browser did not allow copying. Select the text and copy it yourself.', 'bad')
  }
}

/** The call behind a view, for one's own programs. */
export interface ShownCall {
  readonly method: string
  /** The path with its query. */
  readonly path: string
  readonly body?: unknown
}

/** The button `</>`, which shows the call as curl and with the client. */
export function CallButton({ call }: { readonly call: ShownCall }) {
  return (
    <TextsButton
      texts={[
        ['curl', curlText(call)],
        ['TypeScript', clientText(call)],
      ]}
    />
  )
}

/** The button `</>` with texts of the caller's choice, by language. */
export function TextsButton(props: {
  readonly texts: readonly (readonly [language: string, text: string])[]
}) {
  const { texts } = props
  const [isOpen, setOpen] = useState(false)
  const [language, setLanguage] = useState(texts[0]![0])
  return (
    <>
      <Button icon="code" label="The call behind this view" onClick={() => setOpen(true)} />
      {isOpen && (
        <Dialog title="The call behind this view" onClose={() => setOpen(false)}>
          <Segments
            label="Language"
            value={language}
            options={texts.map(([name]) => [name, name])}
            onChange={setLanguage}
          />
          <Code text={texts.find(([name]) => name === language)![1]} />
          <p class="quiet">
            Your own programs send a key in place of your session. The <a href="/docs">reference</a> has every
            call.
          </p>
        </Dialog>
      )}
    </>
  )
}

function curlText({ method, path, body }: ShownCall): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${location.origin}${path.replaceAll("'", '%27')}'`,
  ]
  lines.push("  -H 'Authorization: YOUR_SECRET_KEY'")
  if (body !== undefined) {
    lines.push("  -H 'Content-Type: application/json'")
    lines.push(`  -d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`)
  }
  return lines.join(' \\\n')
}

function clientText({ method, path, body }: ShownCall): string {
  const [bare = '', search = ''] = path.split('?')
  const query = Object.fromEntries(new URLSearchParams(search))
  const options = { ...(search !== '' && { query }), ...(body !== undefined && { body }) }
  const rest = Object.keys(options).length === 0 ? '' : `, ${JSON.stringify(options, null, 2)}`
  return [
    "import { Ringfence } from '@ringfence/client'",
    '',
    `const ringfence = new Ringfence({ url: '${location.origin}', key: process.env.RINGFENCE_KEY })`,
    `const answer = await ringfence.${method.toLowerCase()}('${bare}'${rest})`,
  ].join('\n')
}
