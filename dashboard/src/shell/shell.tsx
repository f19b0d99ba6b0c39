// oxlint-disable-next-line import/no-unassigned-import
import './shell.css'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { apiDocument } from '../api/document.ts'
import { environment, type Environment } from '../api/environment.ts'
import { clockLead } from '../clock.ts'
import icon from '../theme/icon.svg'
import { place } from '../router.ts'
import { shownPages } from '../routes.ts'
import { session, signOut } from '../session/session.ts'
import { setTheme, theme } from '../theme/theme.ts'
import { Icon } from '../ui/icon.tsx'
import { Button, Segments } from '../ui/parts.tsx'
import { spanText } from '../ui/words.ts'
import { HelpDialog, useKeys } from './keys.tsx'

const GROUPS = ['watch', 'set', 'project'] as const

/** Navigation, environment and person around every page. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  const [isHelpOpen, setHelpOpen] = useState(false)
  useKeys(() => setHelpOpen(true))
  return (
    <div class="shell" data-environment={environment.value}>
      <a class="button skip" href="#content" onClick={focusContent}>
        To the content
      </a>
      <Rail />
      <header class="bar">
        <EnvironmentSwitch />
        {environment.value === 'test' && <span class="environment-word only-wide">TEST DATA</span>}
        <span class="space" id="bar-space" />
        <Button kind="plain" icon="help" label="Keys and help" onClick={() => setHelpOpen(true)} />
        <PersonMenu />
      </header>
      <main class="content" id="content" tabIndex={-1}>
        <WrongClock />
        {children}
      </main>
      {isHelpOpen && <HelpDialog onClose={() => setHelpOpen(false)} />}
    </div>
  )
}

/** Says that this computer has another time than the server, by which all times are shown. */
function WrongClock() {
  const lead = clockLead.value
  if (lead === 0) return null
  return (
    <p class="notice warn wrong-clock" role="status">
      The clock of this computer is {spanText(Math.abs(lead) / 1000)} {lead > 0 ? 'ahead of' : 'behind'} the
      server’s. Times are shown by the server’s clock.
    </p>
  )
}

function Rail() {
  const [current] = place.value.parts
  const pages = shownPages()
  const rail = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    // On a phone the rail is wider than the screen, and the page that is open may be beyond its edge.
    const link = rail.current?.querySelector<HTMLElement>('[aria-current]')
    if (!link) return
    const { clientWidth } = rail.current!
    rail.current!.scrollLeft = link.offsetLeft - (clientWidth - link.offsetWidth) / 2
  }, [current, pages.length])
  return (
    <nav class="rail" aria-label="Pages" ref={rail}>
      <a class="brand" href={`/${environment.value}/map`}>
        <img src={icon} alt="" />
        <span class="text">Ringfence</span>
      </a>
      {GROUPS.map((group) => {
        const shown = pages.filter(([, page]) => page.group === group)
        return (
          shown.length > 0 && (
            <ul key={group}>
              {shown.map(([name, { title, icon: symbol, isShared }]) => (
                <li key={name}>
                  <a
                    href={isShared ? `/${name}` : `/${environment.value}/${name}`}
                    aria-current={name === current ? 'page' : undefined}
                    title={title}
                  >
                    <Icon name={symbol} />
                    <span class="text">{title}</span>
                    <span class="visually-hidden narrow-name">{title}</span>
                  </a>
                </li>
              ))}
            </ul>
          )
        )
      })}
      <ul class="last">
        <li>
          <a href="/docs" title="API and guides">
            <Icon name="docs" />
            <span class="text">API and guides</span>
          </a>
        </li>
      </ul>
    </nav>
  )
}

function EnvironmentSwitch() {
  const allowed = (session.value?.environments ?? []) as readonly Environment[]
  const [page, ...rest] = place.value.parts
  // The records of one environment are not in the other: the list is.
  const isShared =
    page === undefined || !['test', 'live'].some((one) => location.pathname.startsWith(`/${one}/`))
  const target = isShared
    ? 'map'
    : rest.length > 0 && page !== 'settings' && page !== 'explore'
      ? page
      : [page, ...rest].join('/')
  return (
    <nav class="segments" aria-label="Environment">
      {(['test', 'live'] as const)
        .filter((one) => allowed.includes(one))
        .map((one) => (
          <a
            key={one}
            href={`/${one}/${target}`}
            aria-current={one === environment.value ? 'true' : undefined}
          >
            {one === 'test' ? 'Test' : 'Live'}
          </a>
        ))}
    </nav>
  )
}

function PersonMenu() {
  const { account, key, role } = session.value!
  const name = account?.name || account?.email || `Key …${key ?? ''}`
  return (
    <details
      class="menu"
      onFocusOut={(event) => {
        const menu = event.currentTarget
        if (!menu.contains(event.relatedTarget as Node | null) && event.relatedTarget) menu.open = false
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.currentTarget.open = false
      }}
    >
      <summary class="button plain" aria-label={`${name}: theme and sign out`}>
        <Icon name="members" />
        <span class="only-wide">{name}</span>
      </summary>
      <div class="sheet">
        <div>
          <strong>{name}</strong>
          <div class="quiet">
            {account?.email && account.email !== name ? `${account.email} · ` : ''}role {role}
          </div>
        </div>
        <Segments
          label="Theme"
          value={theme.value}
          options={[
            ['system', 'System'],
            ['light', 'Light'],
            ['dark', 'Dark'],
          ]}
          onChange={setTheme}
        />
        <Button icon="out" onClick={() => void signOut()}>
          Sign out
        </Button>
        <span class="quiet">Version {apiDocument.value?.info.version}</span>
      </div>
    </details>
  )
}

function focusContent(event: Event): void {
  event.preventDefault()
  document.getElementById('content')!.focus()
}
