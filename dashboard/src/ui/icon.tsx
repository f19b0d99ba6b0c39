/** The icons of the dashboard: lines on a grid of 24. */
const PATHS = {
  map: 'M9 4 3 6v14l6-2 6 2 6-2V4l-6 2-6-2zM9 4v14M15 6v14',
  fence: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
  beacon: 'M12 12v9M8.5 15.5a5 5 0 1 1 7 0M5.6 18.4a9 9 0 1 1 12.8 0M12 11.5v.01',
  users:
    'M16 20v-2a4 4 0 0 0-4-4H7a4 4 0 0 0-4 4v2M9.5 10a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM21 20v-2a4 4 0 0 0-3-3.8M15.5 3.2a3.5 3.5 0 0 1 0 6.6',
  events: 'M3 12h4l3-8 4 16 3-8h4',
  trips:
    'M6 20a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM18 9a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8.5 17.5H15a3 3 0 0 0 0-6H9a3 3 0 0 1 0-6h6.5',
  explore: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM15.5 8.5l-2 5-5 2 2-5z',
  imports: 'M12 3v12M7.5 10.5 12 15l4.5-4.5M4 17v3h16v-3',
  sync: 'M20 11a8 8 0 0 0-14.5-4L3 9.5M3 4v5.5h5.5M4 13a8 8 0 0 0 14.5 4l2.5-2.5M21 20v-5.5h-5.5',
  webhooks:
    'M12 8 8.5 14M5.5 14.5a3.5 3.5 0 1 0 3 5h8M12 8a3.5 3.5 0 1 1 3.4-4M12 8l3.8 6.2a3.5 3.5 0 1 1 2 6.3',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5',
  keys: 'M8 18a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM11.5 10.5 20 3M16 7l3 3',
  members: 'M12 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21a8 8 0 0 1 16 0',
  audit: 'M8 4h10a2 2 0 0 1 2 2v14H6a2 2 0 0 1-2-2V8l4-4zM8 12h8M8 16h5',
  system: 'M4 5h16v6H4zM4 13h16v6H4zM7.5 8v.01M7.5 16v.01',
  docs: 'M5 4h9a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM17 8h2v12h-2M9 9h4M9 13h4',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4',
  code: 'M8 7l-5 5 5 5M16 7l5 5-5 5M14 4l-4 16',
  close: 'M6 6l12 12M18 6 6 18',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  check: 'M4 12.5 9.5 18 20 7',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  back: 'M14 6l-6 6 6 6',
  next: 'M10 6l6 6-6 6',
  pause: 'M9 5v14M15 5v14',
  play: 'M7 4.5v15l12-7.5z',
  follow: 'M12 4v3M12 17v3M4 12h3M17 12h3M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z',
  moon: 'M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M19 5l-1.4 1.4M6.4 17.6 5 19',
  more: 'M5 12v.01M12 12v.01M19 12v.01',
  list: 'M9 6h11M9 12h11M9 18h11M4.5 6v.01M4.5 12v.01M4.5 18v.01',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  out: 'M10 4H5v16h5M15 8l4 4-4 4M9 12h10',
  help: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M12 16.8v.01',
  fit: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  sparkle: 'M12 3l2 6 6 3-6 3-2 6-2-6-6-3 6-3z',
} as const

export type IconName = keyof typeof PATHS

/** Beside a text, or within a button that has a name. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
