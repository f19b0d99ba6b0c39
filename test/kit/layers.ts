/**
 * The import rules of the folders under src/, as data, and the check that holds them (docs/adr/0002).
 *
 * Owns: who may import whom, which files are technologies, which must be pure. Does not own: whether an import
 * resolves (the compiler says) or is used (knip says).
 *
 * 1. A folder imports itself, the folders of its row, and any port file except where it stands below all ports.
 * 2. A technology file, one that reaches files, sockets, threads or a database, is imported from outside its folder
 *    by the composition roots, workers, tests and benches only: everybody else sees its port.
 * 3. Pure code imports no `node:` module, reads no clock and draws no random number.
 * 4. Nothing under src/ imports what is outside of it, except the composition roots (config/, workers/) and technologies
 *    that start a thread (workers/urls.ts).
 */
import { parseSync } from 'oxc-parser'
import { posix } from 'node:path'

/** Folder under src/ → the folders that it may import. A folder without a row may not exist. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  runtime: ['model'],
  geometry: ['model'],
  spatial: ['model', 'runtime', 'geometry'],
  events: ['model', 'runtime', 'api', 'geometry'],
  log: ['model', 'runtime'],
  api: ['model', 'runtime'],
  registry: ['model', 'runtime', 'api', 'log', 'spatial', 'geometry'],
  actor: ['model', 'runtime', 'log', 'spatial', 'geometry', 'events'],
  engine: ['model', 'runtime', 'api', 'log', 'spatial', 'geometry', 'events', 'actor', 'users', 'ingest'],
  ingest: ['model', 'runtime', 'api', 'log', 'actor', 'events', 'geometry', 'registry'],
  context: ['model', 'runtime', 'api', 'events', 'geometry', 'registry'],
  client: ['model', 'runtime', 'api', 'events', 'geometry', 'registry'],
  users: ['model', 'runtime', 'api', 'actor', 'events', 'geometry', 'ingest'],
  delivery: ['model', 'runtime', 'api', 'log', 'events', 'registry'],
  stream: ['model', 'runtime', 'api', 'events', 'spatial', 'geometry', 'registry', 'actor', 'ingest'],
  reference: ['runtime', 'api'],
  ops: ['model', 'runtime', 'api', 'actor'],
  backup: ['model', 'runtime'],
  control: ['model', 'runtime'],
  geodata: ['model', 'runtime', 'api'],
  routing: ['model', 'runtime', 'api', 'geometry'],
}

/** Folders below all ports: they may not even import a port. */
const BELOW_PORTS: ReadonlySet<string> = new Set(['model', 'runtime', 'geometry'])

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
])

/** What they put together is the server, and the operator's commands. */
const ROOTS: ReadonlySet<string> = new Set(['src/main.ts', 'src/cli/operator.ts', 'src/region.ts'])

/** Its files are composition roots, too. */
const ROOTS_FOLDER = 'src/compose/'

/** Where the files that threads start with are named. */
const WORKER_URLS = 'workers/urls.ts'

const PURE: readonly RegExp[] = [
  /^src\/model\//,
  /^src\/geometry\//,
  /^src\/events\/(?!event(?:Index|Database|Worker))/,
  /^src\/actor\/device\.ts$/,
]

/**
 * What breaks the rules, one sentence each, in the order of the files.
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
    if (isPure(path)) {
      for (const impurity of file.impurities) violations.push(`${path} is pure and must not use ${impurity}`)
    }
  }
  return violations
}

interface SourceFile {
  /** Specifiers of static, dynamic and type imports and of re-exports. */
  readonly imports: readonly string[]
  /** Calls that read a clock or draw a random number, as written. */
  readonly impurities: readonly string[]
}

function importProblem(
  path: string,
  specifier: string,
  technologies: ReadonlySet<string>,
): string | undefined {
  if (!specifier.startsWith('.')) {
    return specifier.startsWith('node:') && isPure(path) ? 'pure code imports no node: module' : undefined
  }
  if (ROOTS.has(path) || path.startsWith(ROOTS_FOLDER)) return undefined
  const target = resolve(path, specifier)
  const from = folderOf(path)
  const to = folderOf(target)
  if (target === WORKER_URLS && technologies.has(path)) return undefined
  if (to === undefined) return 'src/ imports nothing outside of it'
  if (from === undefined || MAY_IMPORT[from] === undefined) return `${path} has no row in the import rules`
  if (from === to) return undefined
  if (technologies.has(target)) return 'a technology is imported by composition roots only; use its port'
  if (MAY_IMPORT[from].includes(to)) return undefined
  if (posix.basename(target) === 'port.ts' && !BELOW_PORTS.has(from)) return undefined
  return `${from} may import ${MAY_IMPORT[from].join(', ') || 'nothing'}, not ${to}`
}

/** Files that import a technology, and those of the same folder that import such a file. */
function technologyFiles(files: ReadonlyMap<string, SourceFile>): Set<string> {
  const found = new Set<string>()
  let before: number
  do {
    before = found.size
    for (const [path, { imports }] of files) {
      const reaches = imports.some(
        (specifier) =>
          TECHNOLOGIES.has(specifier) || (specifier.startsWith('./') && found.has(resolve(path, specifier))),
      )
      if (reaches) found.add(path)
    }
  } while (found.size > before)
  return found
}

/** Parses the file: text in comments and strings does not count. */
function read(path: string, source: string): SourceFile {
  const { module, program, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)
  const imports = module.staticImports.map((found) => found.moduleRequest.value)
  for (const { entries } of module.staticExports) {
    for (const { moduleRequest } of entries) if (moduleRequest) imports.push(moduleRequest.value)
  }
  const impurities: string[] = []
  visit(program, (node) => {
    if (node.type === 'ImportExpression' || node.type === 'TSImportType') {
      imports.push(String((node.source as { value?: unknown }).value))
    }
    const text = () => source.slice(node.start, node.end)
    if (node.type === 'MemberExpression' && /^(?:Date\.now|Math\.random|performance\.now)$/.test(text())) {
      impurities.push(text())
    }
    const constructsDate =
      (node.type === 'NewExpression' || node.type === 'CallExpression') &&
      (node.callee as { name?: string }).name === 'Date' &&
      (node.arguments as unknown[]).length === 0
    if (constructsDate) impurities.push(text())
    if (node.type === 'Identifier' && (node.name === 'process' || node.name === 'crypto')) {
      impurities.push(text())
    }
  })
  return { imports: [...new Set(imports)], impurities }
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

/** `src/log/port.ts` → `log`; undefined for what lies directly under src/ or outside of it. */
function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1]
}

function isPure(path: string): boolean {
  return PURE.some((pattern) => pattern.test(path))
}
