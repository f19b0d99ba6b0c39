/**
 * The import rules of the folders under src/, as data, and the check that enforces them (docs/adr/0002).
 *
 * Owns: who may import whom, which files are technologies, which must be pure. Does not own: whether an import
 * resolves (the compiler checks that) or is used (knip checks that).
 *
 * 1. A folder imports itself and the folders of its row, types included. No two folders import each other, not even
 * through others: a row names only folders of rows above it. A folder in a row that is never imported is an error. Nor do
 * two of the first folders import each other, each taken with all that it contains.
 * 2. A technology file reaches files, sockets, threads or a database. Only the composition roots, workers, tests and
 * benches import it from outside its folder; everybody else sees its port. A file that imports a technology of
 * runtime/ is itself a technology, in any folder.
 * 3. Pure code imports no `node:` module and no technology, reads no clock, sets no timer and draws no random number.
 * 4. Nothing under src/ imports anything outside it, except the composition roots (config/, package.json) and what starts a thread
 * (workers/urls.ts). A file of the project is named by its relative path, so that the check sees it: a text with such a
 * path counts as an import wherever it stands, and a path that is put together is refused.
 * 5. No two files export the same name, so that a name means one thing wherever it is read. To export what another file
 * declares by another name makes a name, too.
 */
import { parseSync } from 'oxc-parser'
import { posix } from 'node:path'

/**
 * Folder under src/ → the folders that it imports, types and ports included. A row names only folders of rows above
 * it, so no two folders can import each other, not even through others. Every import that a row allows must be used,
 * so the table shows exactly what is imported.
 */
const IMPORTS: readonly (readonly [folder: string, imports: readonly string[]])[] = [
  ['model', []],
  ['runtime', ['model']],
  ['http', ['model', 'runtime']],
  ['jobs', ['runtime']],
  ['geometry', ['model']],
  ['log', ['model', 'runtime']],
  ['spatial', ['model', 'runtime', 'geometry']],
  ['rules', ['model', 'geometry', 'spatial']],
  ['wire', ['model', 'runtime', 'http']],
  ['events', ['model', 'runtime', 'http', 'log']],
  ['actor', ['model', 'runtime', 'jobs', 'geometry', 'log', 'spatial', 'rules', 'events']],
  ['trips/machine', ['model', 'runtime', 'geometry', 'rules']],
  ['registry/store', ['runtime']],
  ['registry/projects', ['model', 'runtime', 'http', 'registry/store']],
  ['registry/people', ['model', 'runtime', 'http', 'registry/store', 'registry/projects']],
  ['registry/audit', ['model', 'runtime', 'jobs', 'http', 'registry/store']],
  ['registry/records', ['model', 'runtime', 'http', 'geometry', 'spatial', 'registry/store']],
  ['registry/beacons', ['model', 'runtime', 'http', 'spatial', 'rules', 'registry/records']],
  [
    'registry/geofences',
    ['model', 'runtime', 'jobs', 'http', 'geometry', 'spatial', 'registry/store', 'registry/records'],
  ],
  [
    'registry/settings',
    ['model', 'runtime', 'http', 'registry/store', 'registry/records', 'registry/beacons'],
  ],
  ['registry/webhooks', ['model', 'runtime', 'http', 'registry/records']],
  ['registry/hooks', ['model', 'runtime', 'http', 'spatial', 'registry/records']],
  [
    'registry/transfer',
    [
      'model',
      'runtime',
      'http',
      'geometry',
      'registry/store',
      'registry/records',
      'registry/beacons',
      'registry/geofences',
    ],
  ],
  ['registry/sync', ['model', 'runtime', 'registry/store', 'registry/records']],
  ['registry/trips', ['model', 'runtime', 'registry/store', 'registry/records']],
  ['registry/notifications', ['model', 'runtime', 'registry/store', 'registry/records']],
  [
    'registry',
    [
      'model',
      'runtime',
      'spatial',
      'rules',
      'registry/store',
      'registry/people',
      'registry/audit',
      'registry/projects',
      'registry/records',
      'registry/beacons',
      'registry/geofences',
      'registry/settings',
      'registry/webhooks',
      'registry/hooks',
      'registry/transfer',
      'registry/sync',
      'registry/trips',
      'registry/notifications',
    ],
  ],
  [
    'accounts',
    ['model', 'runtime', 'jobs', 'http', 'registry/store', 'registry/projects', 'registry/people'],
  ],
  ['notify', ['model', 'runtime', 'jobs', 'http', 'registry/store', 'registry/notifications']],
  [
    'sync',
    [
      'model',
      'runtime',
      'jobs',
      'http',
      'geometry',
      'registry/store',
      'registry/records',
      'registry/geofences',
      'registry/transfer',
      'registry/sync',
    ],
  ],
  ['users', ['model', 'runtime', 'http', 'geometry', 'rules', 'events', 'actor', 'registry/records']],
  [
    'trips',
    [
      'model',
      'runtime',
      'jobs',
      'http',
      'geometry',
      'rules',
      'trips/machine',
      'events',
      'actor',
      'registry/records',
      'registry/geofences',
      'registry/settings',
      'registry/trips',
      'users',
    ],
  ],
  [
    'ingest',
    [
      'model',
      'runtime',
      'http',
      'geometry',
      'spatial',
      'rules',
      'wire',
      'events',
      'actor',
      'registry/beacons',
      'registry/geofences',
      'users',
      'trips',
    ],
  ],
  [
    'stream',
    [
      'model',
      'runtime',
      'http',
      'geometry',
      'spatial',
      'wire',
      'events',
      'actor',
      'registry/records',
      'registry',
    ],
  ],
  [
    'sdk',
    [
      'model',
      'runtime',
      'http',
      'geometry',
      'spatial',
      'rules',
      'events',
      'registry/beacons',
      'registry/geofences',
    ],
  ],
  ['tile38', ['model', 'runtime', 'jobs', 'geometry', 'spatial', 'actor']],
  ['cluster/nats', ['runtime']],
  ['cluster/protocol', ['model', 'runtime', 'spatial', 'wire', 'actor']],
  ['cluster/journal', ['model', 'runtime', 'log', 'events', 'cluster/nats']],
  ['cluster/ownership', ['runtime', 'jobs', 'log', 'cluster/nats']],
  [
    'cluster/owner',
    [
      'model',
      'runtime',
      'log',
      'spatial',
      'rules',
      'wire',
      'events',
      'actor',
      'users',
      'trips',
      'cluster/nats',
      'cluster/protocol',
    ],
  ],
  [
    'cluster/gateway',
    [
      'model',
      'runtime',
      'http',
      'spatial',
      'events',
      'actor',
      'users',
      'trips',
      'accounts',
      'cluster/nats',
      'cluster/protocol',
    ],
  ],
  ['cluster/registry', ['runtime', 'registry/store', 'registry/projects', 'registry', 'cluster/nats']],
  [
    'delivery',
    [
      'model',
      'runtime',
      'http',
      'geometry',
      'spatial',
      'events',
      'actor',
      'registry/records',
      'registry/webhooks',
      'registry/hooks',
      'cluster/nats',
    ],
  ],
  ['geo/text', []],
  ['geo/records', ['model', 'geometry', 'geo/text']],
  ['geo/placeDatabase', ['model', 'runtime', 'geometry', 'geo/text', 'geo/records']],
  ['geo/mapFile', ['model', 'runtime', 'geo/records']],
  [
    'geo/world',
    ['model', 'runtime', 'geometry', 'geo/text', 'geo/records', 'geo/placeDatabase', 'geo/mapFile'],
  ],
  ['geo/addressFiles', ['model', 'runtime', 'geometry', 'geo/records']],
  [
    'geo/extract',
    [
      'model',
      'runtime',
      'geometry',
      'geo/text',
      'geo/records',
      'geo/placeDatabase',
      'geo/mapFile',
      'geo/addressFiles',
    ],
  ],
  [
    'geo/atlas',
    ['model', 'runtime', 'geometry', 'rules', 'geo/records', 'geo/placeDatabase', 'geo/world', 'geo/extract'],
  ],
  [
    'geo/geocoding',
    [
      'model',
      'runtime',
      'geometry',
      'http',
      'registry/geofences',
      'geo/text',
      'geo/records',
      'geo/world',
      'geo/placeDatabase',
      'geo/extract',
    ],
  ],
  [
    'geo/maps',
    [
      'runtime',
      'http',
      'geo/records',
      'geo/world',
      'geo/placeDatabase',
      'geo/mapFile',
      'geo/extract',
      'geo/geocoding',
    ],
  ],
  ['geo/liveMap', ['model', 'runtime', 'http', 'geometry', 'spatial', 'actor', 'geo/mapFile', 'geo/maps']],
  ['geo/ip', ['model', 'runtime', 'http', 'rules', 'geo/records', 'geo/world', 'geo/geocoding']],
  ['geo/routing', ['model', 'runtime', 'http', 'geometry', 'registry/geofences', 'geo/extract']],
  ['simulation', ['model', 'runtime', 'http', 'actor']],
  ['reference', ['runtime', 'http']],
  ['dashboard', ['runtime', 'http']],
  ['ops', ['model', 'runtime', 'jobs', 'http', 'log', 'rules', 'events', 'actor']],
  ['mcp', []],
  ['cli/backup', ['log', 'events']],
  ['cli/control', ['runtime', 'cli/backup']],
  [
    'cli',
    [
      'model',
      'runtime',
      'http',
      'log',
      'events',
      'accounts',
      'registry',
      'registry/audit',
      'registry/people',
      'registry/store',
      'registry/projects',
      'registry/transfer',
      'geo/extract',
      'mcp',
      'cli/backup',
      'cli/control',
    ],
  ],
  [
    'compose',
    [
      'model',
      'runtime',
      'jobs',
      'http',
      'log',
      'spatial',
      'rules',
      'wire',
      'events',
      'actor',
      'accounts',
      'registry/audit',
      'registry/projects',
      'registry/beacons',
      'registry/geofences',
      'registry/settings',
      'registry/transfer',
      'registry',
      'sync',
      'notify',
      'users',
      'trips',
      'ingest',
      'stream',
      'sdk',
      'tile38',
      'cluster/nats',
      'cluster/journal',
      'cluster/ownership',
      'cluster/owner',
      'cluster/gateway',
      'cluster/registry',
      'delivery',
      'geo/placeDatabase',
      'geo/extract',
      'geo/world',
      'geo/atlas',
      'geo/geocoding',
      'geo/maps',
      'geo/liveMap',
      'geo/ip',
      'geo/routing',
      'reference',
      'simulation',
      'dashboard',
      'ops',
      'cli/backup',
      'cli/control',
      'cli',
    ],
  ],
]

const MAY_IMPORT = new Map(IMPORTS)

const TECHNOLOGIES: ReadonlySet<string> = new Set([
  'node:fs',
  'node:fs/promises',
  'node:child_process',
  'node:worker_threads',
  'node:net',
  'node:http',
  'better-sqlite3',
  'uWebSockets.js',
  '@nats-io/jetstream',
  '@nats-io/kv',
  '@nats-io/obj',
  '@nats-io/transport-node',
  '@redis/client',
  'piscina',
  'nodemailer',
])

/** The composition roots of the server and of the operator's commands. */
const ROOTS: ReadonlySet<string> = new Set(['src/main.ts', 'src/region.ts'])

/** Folders whose files put technologies together and read the settings. */
const ROOT_FOLDERS: ReadonlySet<string> = new Set(['cli', 'compose'])

/** The options and the version, which only composition roots read. */
const SETTINGS = /^(?:config\/|package\.json$)/

/** The file that names the entry points of threads. */
const WORKER_URLS = 'workers/urls.ts'

/**
 * Folders whose technology is built on that of another folder. The registry that processes share is, in each of them,
 * a registry of its own that is edited in another way. People, the runs of syncs and waiting e-mails lie in the registry.
 */
const BUILDS_ON: ReadonlyMap<string, string> = new Map([
  ['cluster/registry', 'registry'],
  ['accounts', 'registry'],
  ['sync', 'registry'],
  ['notify', 'registry'],
])

/** The folder whose technologies others may build on, because several folders need them. */
const SHARED = 'runtime'

const PURE: readonly RegExp[] = [
  /^src\/model\//,
  /^src\/geometry\//,
  /^src\/rules\//,
  /^src\/trips\/machine\//,
  /^src\/events\/(?!event(?:Index|Database|Tables|Search|Worker)\.|(?:ownedEvents|fanoutGroup)\.)/,
]

/**
 * The violations of the rules, one sentence each, in the order of the files.
 * @param sources path from the repository's root, with slashes → source text; every .ts file under src/
 */
export function layerViolations(sources: ReadonlyMap<string, string>): string[] {
  const violations: string[] = []
  const files = new Map([...sources].map(([path, source]) => [path, read(path, source)]))
  const technologies = technologyFiles(files)
  for (const [path, file] of files) {
    for (const specifier of file.imports) {
      const problem = importProblem(path, specifier, technologies)
      if (problem !== undefined) violations.push(`${path} imports ${specifier}: ${problem}`)
    }
    violations.push(...file.unreadable.map((text) => `${path} imports ${text}: a path that cannot be read`))
    if (isPure(path)) {
      if (technologies.has(path)) violations.push(`${path} is pure and must not be a technology`)
      for (const impurity of file.impurities) violations.push(`${path} is pure and must not use ${impurity}`)
    }
  }
  return violations
}

/**
 * The faults of the table itself, one sentence each: rows out of order, and rows or imports that nothing uses.
 * @param sources as above
 */
export function tableFaults(sources: ReadonlyMap<string, string>): string[] {
  const used = new Set<string>()
  for (const [path, source] of sources) {
    for (const specifier of read(path, source).imports)
      if (specifier.startsWith('.')) used.add(`${folderOf(path)} ${folderOf(resolve(path, specifier))}`)
  }
  const folders = new Set([...sources.keys()].map(folderOf))
  const faults: string[] = []
  const above = new Set<string>()
  for (const [folder, imports] of IMPORTS) {
    if (!folders.has(folder)) faults.push(`${folder} has a row and no file`)
    for (const [i, imported] of imports.entries()) {
      if (imports.indexOf(imported) < i) faults.push(`${folder} names ${imported} twice`)
      if (!above.has(imported)) faults.push(`${folder} names ${imported}, which is no row above it`)
      if (!used.has(`${folder} ${imported}`)) faults.push(`${folder} does not import ${imported}`)
    }
    above.add(folder)
  }
  return faults
}

/**
 * The pairs of folders that import each other, types included, as `actor and rules`. The first folders, each with all
 * that it contains, are compared as well: `accounts and registry`.
 * @param sources as above
 */
export function mutualImports(sources: ReadonlyMap<string, string>): string[] {
  const used = new Set<string>()
  for (const [path, source] of sources) {
    for (const specifier of read(path, source).imports) {
      const [from, to] = [folderOf(path), folderOf(resolve(path, specifier))]
      if (!specifier.startsWith('.') || from === undefined || to === undefined) continue
      used.add(`${from} and ${to}`)
      if (topOf(from) !== topOf(to)) used.add(`${topOf(from)} and ${topOf(to)}`)
    }
  }
  return [...used].filter((pair) => {
    const [one, other] = pair.split(' and ') as [string, string]
    return one < other && used.has(`${other} and ${one}`)
  })
}

/**
 * Names that more than one file declares and exports, one sentence each, in the order of the alphabet. To pass on what
 * another file declares is no second meaning.
 * @param sources as above
 */
export function doubleNames(sources: ReadonlyMap<string, string>): string[] {
  const places = new Map<string, Set<string>>()
  for (const [path, source] of sources) {
    const { module } = parseSync(path, source)
    const imported = new Map(
      module.staticImports.flatMap(({ entries }) =>
        entries.map(({ localName, importName }) => [localName.value, importName.name ?? '']),
      ),
    )
    for (const { moduleRequest, exportName, importName, localName } of module.staticExports.flatMap(
      ({ entries }) => entries,
    )) {
      const name = exportName.kind === 'Default' ? localName.name : exportName.name
      const passedOn = moduleRequest ? importName.name : imported.get(localName.name ?? '')
      if (name === null || passedOn === name) continue
      places.set(name, (places.get(name) ?? new Set()).add(path))
    }
  }
  return [...places]
    .filter(([, paths]) => paths.size > 1)
    .map(([name, paths]) => `${name} is exported by ${[...paths].join(' and ')}`)
    .sort()
}

interface SourceFile {
  /** The specifiers of static, dynamic and type imports and of re-exports, and all other texts that are the path of a source file. */
  readonly imports: readonly string[]
  /** Imports whose specifier is no plain text, as they are written. */
  readonly unreadable: readonly string[]
  /** What reads a clock, sets a timer or draws a random number, as it is written. */
  readonly impurities: readonly string[]
}

function importProblem(
  path: string,
  specifier: string,
  technologies: ReadonlySet<string>,
): string | undefined {
  if (/^(?:[/#]|file:|@?ringfence\b)/.test(specifier))
    return 'files of this project are imported by a relative path'
  if (!specifier.startsWith('.')) {
    return specifier.startsWith('node:') && isPure(path) ? 'pure code imports no node: module' : undefined
  }
  const target = resolve(path, specifier)
  const from = folderOf(path)
  const to = folderOf(target)
  const isRoot = ROOTS.has(path) || (from !== undefined && ROOT_FOLDERS.has(from))
  if (target === WORKER_URLS && (isRoot || technologies.has(path))) return undefined
  if (to === undefined)
    return isRoot && SETTINGS.test(target) ? undefined : 'src/ imports nothing outside of it'
  if (ROOTS.has(path)) return undefined
  const allowed = from === undefined ? undefined : MAY_IMPORT.get(from)
  if (from === undefined || allowed === undefined) return `${path} has no row in the import rules`
  if (from === to) return undefined
  const isOwn = topOf(from) === topOf(to) || to === SHARED || BUILDS_ON.get(from) === topOf(to)
  if (!isRoot && !isOwn && technologies.has(target))
    return 'a technology is imported by composition roots only; use its port'
  if (allowed.includes(to)) return undefined
  return `${from} may import ${allowed.join(', ') || 'nothing'}, not ${to}`
}

/** Files that import a technology, and those that import such a file of the same top folder or of runtime/. */
function technologyFiles(files: ReadonlyMap<string, SourceFile>): Set<string> {
  const found = new Set<string>()
  let before: number
  do {
    before = found.size
    for (const [path, { imports }] of files) {
      const reaches = imports.some(
        (specifier) =>
          TECHNOLOGIES.has(specifier) ||
          (specifier.startsWith('.') && passesOn(path, specifier) && found.has(resolve(path, specifier))),
      )
      if (reaches) found.add(path)
    }
  } while (found.size > before)
  return found
}

/** The path of a source file, relative to another. */
const SOURCE_PATH = /^\.{1,2}\/[^\s*]*\.[cm]?[jt]sx?$/
/** Globals that pure code must not name. */
const IMPURE: ReadonlySet<unknown> = new Set([
  'process',
  'crypto',
  'globalThis',
  'performance',
  'setTimeout',
  'setInterval',
  'setImmediate',
])

/** Parses the file: what comments say does not count, except for references. */
function read(path: string, source: string): SourceFile {
  const { program, comments, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)
  const imports: string[] = []
  const unreadable = comments
    .filter(({ value }) => /^\/\s*<reference\s+path/.test(value))
    .map(({ value }) => `/${value}`)
  const impurities: string[] = []
  /** Where `Date` and `Math` stand as they may. */
  const allowed = new Set<unknown>()
  visit(program, (node) => {
    const text = () => source.slice(node.start, node.end)
    const specifier = specifierOf(node)
    if (specifier !== undefined) {
      const plain = plainText(specifier)
      if (plain === undefined) unreadable.push(text())
      else imports.push(plain)
    }
    const plain = plainText(node)
    if (plain !== undefined && SOURCE_PATH.test(plain)) imports.push(plain)
    if (node.type === 'NewExpression' && (node.arguments as unknown[]).length > 0) allowed.add(node.callee)
    if (node.type === 'TSTypeReference') allowed.add(node.typeName)
    if (node.type === 'MemberExpression') {
      if (/^(?:Math\.(?!random\b)\w+|Date\.(?:UTC|parse))$/.test(text())) allowed.add(node.object)
      if (node.computed !== true) allowed.add(node.property)
    }
    if (node.type !== 'Identifier' || allowed.has(node)) return
    if (node.name === 'Date' || node.name === 'Math' || IMPURE.has(node.name)) impurities.push(text())
  })
  return { imports: [...new Set(imports)], unreadable, impurities }
}

/** The node that names what a node imports, or undefined if the node is no import. */
function specifierOf(node: AstNode): unknown {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportAllDeclaration':
    case 'ExportNamedDeclaration':
    case 'ImportExpression':
    case 'TSImportType':
      return node.source ?? undefined
    case 'TSExternalModuleReference':
      return node.expression
    default:
      return undefined
  }
}

/** The text of a literal, or of a template without anything put in. */
function plainText(node: unknown): string | undefined {
  const { type, value, quasis } = node as {
    readonly type: string
    readonly value?: unknown
    readonly quasis?: readonly { readonly value: { readonly cooked: string } }[]
  }
  if (type === 'Literal' && typeof value === 'string') return value
  return type === 'TemplateLiteral' && quasis?.length === 1 ? quasis[0]!.value.cooked : undefined
}

interface AstNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

function visit(node: unknown, enter: (node: AstNode) => void): void {
  if (typeof node !== 'object' || node === null) return
  if (Array.isArray(node)) {
    for (const item of node) visit(item, enter)
    return
  }
  if (typeof (node as AstNode).type === 'string') enter(node as AstNode)
  for (const child of Object.values(node)) visit(child, enter)
}

function resolve(path: string, specifier: string): string {
  return posix.join(posix.dirname(path), specifier)
}

/**
 * The folder of a file: `src/cluster/nats/calls.ts` is in `cluster/nats`. Undefined for files directly under src/ or
 * outside it.
 */
function folderOf(path: string): string | undefined {
  return /^src\/(.+)\/[^/]+$/.exec(path)?.[1]
}

/** The first part of a folder: `cluster/nats` is in `cluster`. */
function topOf(folder: string): string {
  return folder.split('/', 1)[0]!
}

/** Whether importing this technology file makes the importing file a technology, too. */
function passesOn(path: string, specifier: string): boolean {
  const [from, to] = [folderOf(path), folderOf(resolve(path, specifier))]
  return from !== undefined && to !== undefined && (topOf(from) === topOf(to) || to === SHARED)
}

function isPure(path: string): boolean {
  return PURE.some((pattern) => pattern.test(path))
}
