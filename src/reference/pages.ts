import { escapeHtml, GUIDES_PATH, type GuideEntry } from './guides.ts'

/** The page of the reference; {@link ASSETS_PATH} holds its script, and Swagger UI fills it. */
export function referencePage(): string {
  return page({
    title: 'API reference',
    here: '/docs',
    styles: ['swagger-ui.css', 'pages.css'],
    scripts: ['swagger-ui-bundle.js', 'key.js', 'reference.js'],
    bar: keyField('prj_test_sk_…'),
    main: '<div id="reference"></div><noscript>The reference needs JavaScript; the document itself is <a href="/v1/openapi.json">/v1/openapi.json</a>.</noscript>',
  })
}

/**
 * The page of a guide.
 * @param name undefined for the list of guides
 */
export function guidePage(entries: readonly GuideEntry[], name: string | undefined, html: string): string {
  const items = entries.map((entry) => {
    const current = entry.name === name ? ' aria-current="page"' : ''
    return `<li><a href="${GUIDES_PATH}/${entry.name}"${current}>${escapeHtml(entry.title)}</a></li>`
  })
  return page({
    title: entries.find((entry) => entry.name === name)?.title ?? 'Guides',
    here: GUIDES_PATH,
    styles: ['pages.css'],
    scripts: ['guide.js'],
    main: `<div class="layout"><nav aria-label="Guides"><ul>${items.join('')}</ul></nav><main class="guide">${html}</main></div>`,
  })
}

/**
 * The field whose key key.js stores.
 * @param placeholder the beginning of the keys that the page can use
 */
export function keyField(placeholder: string): string {
  return `<form autocomplete="off"><label for="key">Key</label>
<input id="key" type="password" spellcheck="false" autocomplete="off" placeholder="${placeholder}">
<span id="kind" role="status"></span></form>`
}

/** The address of styles and scripts; the name follows. */
export const ASSETS_PATH = '/docs/assets'
/** The page that draws directions. */
export const ROUTES_PATH = '/docs/routes'
/** The page that tries the geo services on a map. */
export const PLAYGROUND_PATH = '/docs/playground'

interface Page {
  readonly title: string
  /** The address of the page's own link in the bar. */
  readonly here: string
  readonly styles: readonly string[]
  readonly scripts: readonly string[]
  /** The address of a script that imports others. */
  readonly module?: string
  /** HTML at the end of the bar. */
  readonly bar?: string
  readonly main: string
}

export function page({ title, here, styles, scripts, module, bar = '', main }: Page): string {
  const link = (path: string, text: string) =>
    `<a href="${path}"${path === here ? ' aria-current="page"' : ''}>${text}</a>`
  const tags = scripts.map((name) => `<script defer src="${ASSETS_PATH}/${name}"></script>`)
  if (module !== undefined) tags.push(`<script type="module" src="${ASSETS_PATH}/${module}"></script>`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Ringfence</title>
<link rel="icon" href="${ASSETS_PATH}/icon.svg" type="image/svg+xml">
${styles.map((name) => `<link rel="stylesheet" href="${ASSETS_PATH}/${name}">`).join('\n')}
${tags.join('\n')}
</head>
<body>
<header><a class="name" href="/docs">Ringfence</a>${link('/docs', 'API reference')}${link(GUIDES_PATH, 'Guides')}${link(ROUTES_PATH, 'Directions')}${link(PLAYGROUND_PATH, 'Playground')}${bar}</header>
${main}
<footer>Map data of regions, borders of countries, time zones: <a href="https://www.openstreetmap.org/copyright">© OpenStreetMap contributors</a>, ODbL. <a href="https://db-ip.com/">IP Geolocation by DB-IP</a></footer>
</body>
</html>
`
}
