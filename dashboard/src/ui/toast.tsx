import { signal } from '@preact/signals'
import { Button } from './parts.tsx'

interface Toast {
  readonly id: number
  readonly text: string
  readonly tone: 'ok' | 'bad'
}

const SHOWN_MS = 6000
const toasts = signal<readonly Toast[]>([])
let lastId = 0

/** Says what has happened. Failures stay until they are closed. */
export function say(text: string, tone: 'ok' | 'bad' = 'ok'): void {
  const id = ++lastId
  toasts.value = [...toasts.value.slice(-3), { id, text, tone }]
  if (tone === 'ok') setTimeout(() => close(id), SHOWN_MS)
}

function close(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id)
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, tone }) => (
        <div key={id} class={`toast ${tone}`}>
          <span>{text}</span>
          <Button
            kind="plain"
            size="small"
            icon="close"
            label="Close this message"
            onClick={() => close(id)}
          />
        </div>
      ))}
    </div>
  )
}
