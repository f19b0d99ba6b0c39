import { Fragment } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { go, pagePath } from '../router.ts'
import { shownPages } from '../routes.ts'
import { CheckField } from '../ui/fields.tsx'
import { Dialog } from '../ui/parts.tsx'
import { signal } from '@preact/signals'

const STORED = 'ringfence.keys'
/** The time in which the letter after `g` counts. */
const PAUSE_MS = 1500

/** Whether the keys are on. People who dictate, or who use keys for something else, turn them off. */
const areOn = signal(read())

/**
 * The keys of every page. Those of one page are announced as an event `ringfence-key` on the document, whose detail is
 * the key. None of them destroys anything.
 */
export function useKeys(openHelp: () => void): void {
  useLayoutEffect(() => {
    let goAt = -Infinity
    const pressed = (event: KeyboardEvent) => {
      if (!areOn.value || event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return
      const { key } = event
      if (isForControl(event)) return
      const isAfterG = performance.now() - goAt < PAUSE_MS
      goAt = key === 'g' ? performance.now() : -Infinity
      if (isAfterG) {
        const page = shownPages().find(([, entry]) => entry.key === key)
        if (page === undefined) return
        go(page[1].isShared ? `/${page[0]}` : pagePath(page[0]))
      } else if (key === '?') openHelp()
      else if (key === '/') document.querySelector<HTMLInputElement>('main input[type=search]')?.focus()
      else if (key === 'j' || key === 'k') step(key === 'j' ? 1 : -1)
      else {
        const isTaken = !document.dispatchEvent(
          new CustomEvent('ringfence-key', { detail: key, cancelable: true }),
        )
        if (!isTaken) return
      }
      event.preventDefault()
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
}

/** Calls a function when a key of this page is pressed, from the moment at which the page is shown. */
export function usePageKey(key: string, pressed: () => void): void {
  useLayoutEffect(() => {
    const listener = (event: Event) => {
      if ((event as CustomEvent<string>).detail !== key) return
      event.preventDefault()
      pressed()
    }
    document.addEventListener('ringfence-key', listener)
    return () => document.removeEventListener('ringfence-key', listener)
  })
}

export function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  const pages = shownPages().filter(([, { key }]) => key !== undefined)
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="facts">
        {[
          ['?', 'this list'],
          ['/', 'search'],
          ['j k', 'next and previous row; Enter opens it'],
          ['n', 'new'],
          ['e', 'explain a user'],
          ['f', 'follow the chosen device'],
          ['Space', 'pause the map'],
          ['Esc', 'back'],
          ...pages.map(([, { key, title }]) => [`g ${key}`, title] as const),
        ].map(([key, text]) => (
          <Fragment key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </Fragment>
        ))}
      </dl>
      <CheckField
        label="Keys are on"
        checked={areOn.value}
        onChange={(on) => {
          areOn.value = on
          try {
            localStorage.setItem(STORED, on ? 'on' : 'off')
          } catch {
            // Without storage, the choice holds until the page is closed.
          }
        }}
      />
      <p>
        Questions? <a href="/docs/guides">The guides</a> show how events, geofences and confidence work.
      </p>
    </Dialog>
  )
}

/** Space and Enter belong to the button or link that has the focus. */
function isForControl({ key, target }: KeyboardEvent): boolean {
  return (
    (key === ' ' || key === 'Enter') &&
    (target as HTMLElement | null)?.closest?.('button, a, summary') != null
  )
}

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null
  return (
    element?.closest?.('input, textarea, select, [contenteditable], dialog') !== null &&
    element !== document.body
  )
}

function step(by: number): void {
  const links = [...document.querySelectorAll<HTMLElement>('main tr[data-row] td:first-child a')]
  if (links.length === 0) return
  const at = links.indexOf(document.activeElement as HTMLElement)
  links[Math.min(Math.max(at + by, 0), links.length - 1)]!.focus()
}

function read(): boolean {
  try {
    return localStorage.getItem(STORED) !== 'off'
  } catch {
    return true
  }
}
