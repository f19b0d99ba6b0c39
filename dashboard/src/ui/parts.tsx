// oxlint-disable-next-line import/no-unassigned-import
import './ui.css'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { serverNow } from '../clock.ts'
import { Icon, type IconName } from './icon.tsx'
import { spanText } from './words.ts'

export type Tone = 'ok' | 'warn' | 'bad' | 'accent' | undefined

/** A button; one without a text has a label. */
export function Button(props: {
  readonly children?: ComponentChildren
  readonly icon?: IconName
  readonly label?: string
  readonly kind?: 'primary' | 'danger' | 'plain'
  readonly size?: 'small'
  readonly type?: 'button' | 'submit'
  readonly pressed?: boolean
  readonly disabled?: boolean
  /** Why the button is disabled, or what else is good to know. */
  readonly title?: string | undefined
  readonly onClick?: () => void
}) {
  const {
    children,
    icon,
    label,
    kind = '',
    size = '',
    type = 'button',
    pressed,
    disabled,
    title,
    onClick,
  } = props
  const shape = children === undefined ? 'square' : ''
  return (
    <button
      type={type}
      class={`button ${kind} ${size} ${shape}`}
      aria-label={label}
      aria-pressed={pressed}
      disabled={disabled}
      title={title ?? (children === undefined ? label : undefined)}
      onClick={onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A link that looks like a button. */
export function LinkButton(props: {
  readonly href: string
  readonly children: ComponentChildren
  readonly icon?: IconName
  readonly kind?: 'primary' | 'plain'
  readonly size?: 'small'
  readonly download?: boolean
}) {
  const { href, children, icon, kind = '', size = '', download } = props
  return (
    <a class={`button ${kind} ${size}`} href={href} download={download}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  )
}

export function Badge({
  tone = undefined,
  children,
}: {
  readonly tone?: Tone
  readonly children: ComponentChildren
}) {
  return <span class={`badge ${tone ?? ''}`}>{children}</span>
}

/** What a page shows where there is nothing, and how that changes. */
export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** Keeps the layout while something is loaded. */
export function Loading({ lines = 5 }: { readonly lines?: number }) {
  return (
    <div role="status" style={{ display: 'grid', gap: '14px', padding: '20px' }}>
      <span class="visually-hidden">Loading</span>
      {Array.from({ length: lines }, (_, i) => (
        <div key={i} class="skeleton" style={{ width: `${90 - ((i * 17) % 40)}%` }} />
      ))}
    </div>
  )
}

/** Shows the sentence of the server, and a button that tries again. */
export function Failure(props: {
  readonly failure: { readonly message: string; readonly requestId?: string | undefined }
  readonly retry?: () => void
}) {
  const { failure, retry } = props
  return (
    <div class="notice bad" role="alert">
      <span>
        {failure.message}
        {failure.requestId && <small class="mono"> · request {failure.requestId}</small>}
      </span>
      {retry && (
        <Button size="small" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** How long ago something was, with the time on hover. It stays current. */
export function Ago({ at }: { readonly at: string | undefined }) {
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 15_000)
    return () => clearInterval(timer)
  }, [])
  if (at === undefined) return <span class="quiet">never</span>
  const date = new Date(at)
  return (
    <time dateTime={at} title={date.toLocaleString()}>
      {agoText(serverNow() - date.getTime())}
    </time>
  )
}

/** `3 min ago`. A clock that is a little ahead makes no time of the future. */
function agoText(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < -60) return `in ${spanText(-seconds)}`
  return seconds < 5 ? 'just now' : `${spanText(seconds)} ago`
}

/** A dialog of the browser: Escape closes it, and the focus stays in it. */
export function Dialog(props: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}) {
  const { title, onClose, children } = props
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = ref.current!
    const before = document.activeElement as HTMLElement | null
    dialog.showModal()
    return () => {
      dialog.close()
      before?.focus?.()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      class="dialog"
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose()
      }}
    >
      <header>
        <h2 id="dialog-title">{title}</h2>
        <Button kind="plain" icon="close" label="Close" onClick={onClose} />
      </header>
      <div class="body">{children}</div>
    </dialog>
  )
}

/** A choice between few values, one of which is chosen. */
export function Segments<T extends string>(props: {
  readonly label: string
  readonly value: T
  readonly options: readonly (readonly [value: T, text: string])[]
  readonly onChange: (value: T) => void
}) {
  const { label, value, options, onChange } = props
  return (
    <div class="segments" role="group" aria-label={label}>
      {options.map(([option, text]) => (
        <button key={option} type="button" aria-pressed={option === value} onClick={() => onChange(option)}>
          {text}
        </button>
      ))}
    </div>
  )
}
