import type { ComponentType } from 'preact'
import { apiDocument, hasCall, loadDocument } from './api/document.ts'
import { preloadStyle } from './map/style.ts'
import { preloadHome } from './pages/maps/home.ts'
import type { IconName } from './ui/icon.tsx'

/** What a page gets: the parts of its path behind its name. */
export interface PageProps {
  readonly parts: readonly string[]
}

interface PageEntry {
  readonly title: string
  readonly icon: IconName
  /** The call that the page is useless without. */
  readonly needs: string
  /** The page belongs to the project and its server, not to one environment. */
  readonly isShared?: true
  /** The letter that opens the page after `g`. */
  readonly key?: string
  readonly group: 'watch' | 'set' | 'project'
  /** Whether nothing is seen without a map. */
  readonly isMap?: true
  readonly load: () => Promise<{ readonly default: ComponentType<PageProps> }>
}

/**
 * The pages, in the order of the navigation. A page whose call is not in the OpenAPI document of the server is not
 * shown.
 */
export const PAGES: Readonly<Record<string, PageEntry>> = {
  map: {
    title: 'Map',
    icon: 'map',
    needs: 'POST /v1/sessions/current/ticket',
    key: 'm',
    group: 'watch',
    isMap: true,
    load: () => import('./pages/map/mapPage.tsx'),
  },
  users: {
    title: 'Users',
    icon: 'users',
    needs: 'GET /v1/users',
    key: 'u',
    group: 'watch',
    load: () => import('./pages/users/usersPage.tsx'),
  },
  events: {
    title: 'Events',
    icon: 'events',
    needs: 'GET /v1/events',
    key: 'e',
    group: 'watch',
    load: () => import('./pages/events/eventsPage.tsx'),
  },
  trips: {
    title: 'Trips',
    icon: 'trips',
    needs: 'GET /v1/trips',
    key: 't',
    group: 'watch',
    load: () => import('./pages/trips/tripsPage.tsx'),
  },
  explore: {
    title: 'Explore',
    icon: 'explore',
    needs: 'GET /v1/route/directions',
    key: 'x',
    group: 'watch',
    load: () => import('./pages/explore/explorePage.tsx'),
  },
  geofences: {
    title: 'Geofences',
    icon: 'fence',
    needs: 'GET /v1/geofences',
    key: 'l',
    group: 'set',
    load: () => import('./pages/geofences/geofencesPage.tsx'),
  },
  beacons: {
    title: 'Beacons',
    icon: 'beacon',
    needs: 'GET /v1/beacons',
    key: 'b',
    group: 'set',
    load: () => import('./pages/beacons/beaconsPage.tsx'),
  },
  imports: {
    title: 'Imports',
    icon: 'imports',
    needs: 'GET /v1/imports/geofences',
    group: 'set',
    load: () => import('./pages/imports/importsPage.tsx'),
  },
  sync: {
    title: 'Sync',
    icon: 'sync',
    needs: 'GET /v1/geofence-sync',
    group: 'set',
    load: () => import('./pages/sync/syncPage.tsx'),
  },
  webhooks: {
    title: 'Webhooks',
    icon: 'webhooks',
    needs: 'GET /v1/webhooks',
    key: 'w',
    group: 'set',
    load: () => import('./pages/webhooks/webhooksPage.tsx'),
  },
  settings: {
    title: 'Settings',
    icon: 'settings',
    needs: 'GET /v1/settings',
    key: 's',
    group: 'set',
    load: () => import('./pages/settings/settingsPage.tsx'),
  },
  keys: {
    title: 'Keys',
    icon: 'keys',
    needs: 'GET /v1/keys',
    isShared: true,
    group: 'project',
    load: () => import('./pages/keys/keysPage.tsx'),
  },
  members: {
    title: 'Members',
    icon: 'members',
    needs: 'GET /v1/accounts',
    isShared: true,
    group: 'project',
    load: () => import('./pages/members/membersPage.tsx'),
  },
  audit: {
    title: 'Audit',
    icon: 'audit',
    needs: 'GET /v1/audit',
    isShared: true,
    group: 'project',
    load: () => import('./pages/audit/auditPage.tsx'),
  },
  system: {
    title: 'System',
    icon: 'system',
    needs: 'GET /v1/system',
    isShared: true,
    group: 'project',
    load: () => import('./pages/system/systemPage.tsx'),
  },
}

/**
 * Begins to load what the page of an address needs, beside what has to be waited for as well: who has signed in, or
 * whether the server accepts a key.
 * @param path with the query
 * @param isSigningIn whether the server would still refuse what is not public
 */
export function preloadPage(path: string, { isSigningIn = false } = {}): void {
  const name = path.split(/[/?#]/).find((part) => part !== '' && part !== 'test' && part !== 'live')
  const entry = name === undefined || !Object.hasOwn(PAGES, name) ? undefined : PAGES[name]
  if (entry === undefined) return
  if (entry.isMap && !isSigningIn) {
    void preloadStyle()
    if (!new URLSearchParams(path.split('?')[1]).has('at')) preloadHome()
  }
  void loadDocument()
  // Whoever shows the page says what has failed.
  entry.load().catch(() => {})
}

/** The pages that this server has. */
export function shownPages(): readonly (readonly [name: string, page: PageEntry])[] {
  if (apiDocument.value === undefined) return []
  return Object.entries(PAGES).filter(([, { needs }]) => hasCall(needs))
}
