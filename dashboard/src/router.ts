import { signal } from '@preact/signals'
import { environment, type Environment } from './api/environment.ts'

/** An address within the dashboard. */
export interface Place {
  /** The parts of the path, without that of the environment: `['users', '5f…', 'explain']`. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

/** The address of the page that is shown. */
export const place = signal<Place>(read())

/** Goes to a page. @param path begins with a slash; that of an environment is made by {@link pagePath} */
export function go(path: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) history.replaceState(null, '', path)
  else history.pushState(null, '', path)
  const before = place.value.parts.join('/')
  place.value = read()
  if (place.value.parts.join('/') !== before) scrollTo(0, 0)
}

/** The path of a page in the current environment: `users/5f…`. */
export function pagePath(page: string, query?: Readonly<Record<string, string | undefined>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) if (value) search.set(name, value)
  const text = search.toString()
  return `/${environment.value}/${page}${text === '' ? '' : `?${text}`}`
}

/** Changes what the query says about the view; an empty value removes it. Does not make a step of the history. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const query = new URLSearchParams(place.value.query)
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value)
    else query.delete(name)
  }
  const text = query.toString()
  go(location.pathname + (text === '' ? '' : `?${text}`), { replace: true })
}

/** Follows links within the dashboard, and the buttons of the browser. */
export function startRouter(): void {
  addEventListener('popstate', () => (place.value = read()))
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest?.('a')
    if (!link || event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    if (link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return
    // What is not a page of the dashboard is loaded by the browser.
    if (/^\/(?:docs|v1|maps|metrics|healthz|readyz)(?:\/|$)/.test(link.pathname)) return
    event.preventDefault()
    go(link.pathname + link.search + link.hash)
  })
}

function read(): Place {
  const all = location.pathname.split('/').filter((part) => part !== '')
  const [first] = all
  const isEnvironment = first === 'test' || first === 'live'
  if (isEnvironment) environment.value = first as Environment
  const parts = (isEnvironment ? all.slice(1) : all).map(decode)
  return { parts, query: new URLSearchParams(location.search) }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
