import { escapeHtml, GUIDES_PATH, type GuideEntry } from './guides.ts'

/** The page of the reference; {@link ASSETS_PATH} holds its script, and Swagger UI fills it. */
export function referencePage(): string {
  return page({
    title: 'API reference',
    here: '/docs',
    styles: ['swagger-ui.css', 'pages.css'],
    scripts: ['swagger-ui-bundle.js', 'reference.js'],
    bar: `<form autocomplete="off"><label for="key">Key</label>
<input id="key" type="password" spellcheck="false" autocomplete="off" placeholder="prj_test_sk_…">
<span id="kind" role="status"></span></form>`,
    main: '<div id="reference"></div><noscript>The reference needs JavaScript; the document itself is <a href="/v1/openapi.json">/v1/openapi.json</a>.</noscript>',
  })
}

/** The page of a guide. `name` undefined: the list of guides. */
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
    bar: '',
    main: `<div class="layout"><nav aria-label="Guides"><ul>${items.join('')}</ul></nav><main class="guide">${html}</main></div>`,
  })
}

/** Where styles and scripts are; the name follows. */
export const ASSETS_PATH = '/docs/assets'

interface Page {
  readonly title: string
  /** Which link of the bar leads here. */
  readonly here: string
  readonly styles: readonly string[]
  readonly scripts: readonly string[]
  /** HTML at the end of the bar. */
  readonly bar: string
  readonly main: string
}

function page({ title, here, styles, scripts, bar, main }: Page): string {
  const link = (path: string, text: string) =>
    `<a href="${path}"${path === here ? ' aria-current="page"' : ''}>${text}</a>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Ringfence</title>
<link rel="icon" href="${ASSETS_PATH}/icon.svg" type="image/svg+xml">
${styles.map((name) => `<link rel="stylesheet" href="${ASSETS_PATH}/${name}">`).join('\n')}
${scripts.map((name) => `<script defer src="${ASSETS_PATH}/${name}"></script>`).join('\n')}
</head>
<body>
<header><a class="name" href="/docs">Ringfence</a>${link('/docs', 'API reference')}${link(GUIDES_PATH, 'Guides')}${bar}</header>
${main}
<footer>Map data of regions: <a href="https://www.openstreetmap.org/copyright">© OpenStreetMap contributors</a>, ODbL</footer>
</body>
</html>
`
}
