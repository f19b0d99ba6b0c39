/**
 * What a module keeps for the whole process, and the check that it is listed.
 *
 * A process may have several hosts, and a test several servers. What belongs to one of them is a member of an object that it
 * has, and no variable of a module: it would be shared, and it would never go away.
 *
 * Owns: which variables of modules may change, and why. Does not own: what constants contain.
 *
 * A variable of a module counts as state if it is no `const`, if it holds an instance that is not declared as read-only, or
 * if it begins as an empty list or object.
 */
import { parseSync } from 'oxc-parser'

/**
 * Why a module may keep something for the whole process:
 * - `scratch`: Nothing of it outlives a call that does not wait.
 * - `memo`: It remembers what a pure function returned. It is bounded, and apart from time nobody can tell whether it is
 *   there.
 * - `keyed`: What it remembers of an object goes with the object, which belongs to one host.
 * - `facts`: It is read once from what the program consists of, and is the same for everybody.
 * - `constant`: Nobody changes it once its module is loaded.
 * - `process`: There is one for the process by its nature.
 */
type Reason = 'scratch' | 'memo' | 'keyed' | 'facts' | 'constant' | 'process'

/** The state that modules have, by the reason for it. */
const ALLOWED: Readonly<Record<Reason, readonly string[]>> = {
  scratch: [
    'src/actor/feedTable.ts lastRow lastView',
    'src/actor/partition.ts EVALUATORS',
    'src/geometry/discOverlap.ts sum',
    'src/geometry/distance.ts from to',
    'src/geometry/polygonCoverage.ts stack mapped',
    'src/geometry/polygonDistance.ts stackNode stackBound',
    'src/geometry/polygonFarCoverage.ts stack east north mapped',
    'src/geometry/polygonFarDistance.ts stackNode stackBound at nearest',
    'src/geometry/polygonInside.ts stack',
    'src/geometry/shapeBatch.ts probe',
    'src/geometry/shapeLayout.ts run nodeBox',
    'src/geometry/shapePreparation.ts probe scratch boxes',
    'src/http/answerText.ts shortAnswer',
    'src/http/jsonStructure.ts structure',
    'src/ingest/replayBound.ts probe',
    'src/ingest/trackAnswer.ts bytes at',
    'src/rules/geofenceFinder.ts stayMarks',
    'src/spatial/geofenceCodec.ts scratch end at',
    'src/stream/msgpackCheck.ts structure',
    'src/stream/protobufCheck.ts structure bytes at',
    'src/trips/packedTrip.ts scratch',
    'src/trips/tripMove.ts probe',
    'src/trips/tripRows.ts plain withOne moved movedView',
    'src/wire/jsonScanner.ts draft bytes at textEnd textHash lastNames lastFields',
    'src/wire/msgpackScanner.ts draft bytes view at',
    'src/wire/protobufScanner.ts draft bytes view at',
    'src/cluster/protocol/partitionProtocol.ts rowWriter',
    'src/cluster/protocol/updateRows.ts draft',
    'src/geo/atlas/areaEdges.ts parity',
    'src/geo/atlas/firstPlaces.ts probe',
    'src/geo/atlas/placeCell.ts probe',
    'src/geo/atlas/ringMeters.ts edge',
    'src/geo/atlas/regionCell.ts probe',
    'src/geo/liveMap/geofenceTile.ts read',
  ],
  memo: [
    'src/actor/headRests.ts shared',
    'src/ingest/nearby.ts openRecords',
    'src/ingest/trackAnswer.ts sent received',
    'src/model/isoDate.ts seconds prefixes',
    'src/sync/schedule.ts formats',
    'src/trips/tripRecord.ts lastTrip lastSettings lastJson',
    'src/wire/texts.ts texts',
    'src/geo/atlas/regionNames.ts regions',
    'src/geo/geocoding/addressText.ts orders',
    'src/geo/geocoding/areaCandidates.ts countries',
    'src/geo/geocoding/cityLines.ts kept rules',
    'src/geo/maps/packages.ts found',
    'src/geo/maps/tileFile.ts directories',
    'src/geo/text/words.ts kept keptNames',
    'src/geo/world/countries.ts countries areCountries displayNames countryNames',
    'src/geo/world/timeZone.ts quarters',
  ],
  keyed: [
    'src/cluster/nats/connectionLoss.ts waiting',
    'src/cluster/nats/requests.ts made',
    'src/dashboard/dashboardRoutes.ts etags',
    'src/events/record.ts regionTexts placeTexts',
    'src/model/place.ts shownBefore',
    'src/reference/referenceRoutes.ts packed',
    'src/registry/beacons/beaconRecord.ts texts',
    'src/rules/fraudLists.ts known',
    'src/rules/geofenceRules.ts parsedRanges',
    'src/rules/segments.ts programs',
  ],
  facts: [
    'src/geo/atlas/countryEdges.ts made',
    'src/geo/atlas/regionNames.ts markets codes',
    'src/geo/extract/placeRecords.ts chains',
    'src/geo/world/borders.ts made',
    'src/geo/world/countries.ts byName',
  ],
  constant: [
    'src/actor/withinZone.ts NO_BEACONS',
    'src/actor/profileCodec.ts packr',
    'src/events/eventWorker.ts NEVER',
    'src/log/commitLog.ts ZEROS',
    'src/rules/atlas.ts NEVER',
    'src/rules/countries.ts BARRED UNCERTAIN',
    'src/runtime/loopRest.ts never',
    'src/spatial/cellGrid.ts CELL_DEGREES PAD_METERS',
    'src/stream/msgpackCodec.ts packr',
    'src/stream/protobufCodec.ts check',
    'src/trips/step.ts NOTHING',
    'src/trips/tripCodec.ts packr NOBODY NOTHING',
    'src/trips/tripTable.ts NO_CHANGE',
    'src/wire/fieldNames.ts updateFields frameFields',
    'src/wire/protobufScanner.ts UPDATE_FIELDS',
    'src/wire/senders.ts NO_BYTES',
    'src/wire/trackFrame.ts frames bodies',
    'src/cluster/gateway/comparedImports.ts QUESTION',
    'src/cluster/journal/jetStreamEvents.ts NOTHING',
    'src/cluster/journal/jetStreamRecords.ts NOTHING',
    'src/cluster/protocol/answerPieces.ts packr',
    'src/cluster/protocol/outcomeProtocol.ts packr',
    'src/cluster/protocol/partitionProtocol.ts packr',
    'src/cluster/protocol/questionProtocol.ts packr',
    'src/cluster/protocol/resultProtocol.ts packr',
    'src/geo/extract/osmReader.ts EMPTY',
    'src/geo/mapFile/mapWriter.ts NO_STATES',
    'src/geo/text/wordClasses.ts canonical light',
  ],
  process: [
    // How much memory the process takes for answers that are waited for.
    'src/actor/applied.ts longTextLimit',
    'src/ingest/updateAnswer.ts nearbyLimit',
    // Ids, turns of the event loop, and what belongs to a call wherever it continues.
    'src/runtime/newId.ts counter',
    'src/runtime/slices.ts firstBegan',
    'src/runtime/slices.ts turns',
    'src/registry/store/author.ts authors',
    // Each of these is all that its thread does.
    'workers/atlasWorker.ts thread',
    'workers/geocoderWorker.ts thread',
    'workers/mapWorker.ts thread',
  ],
}

/** Classes whose instances do not change. */
const STATELESS: ReadonlySet<string> = new Set([
  'URL',
  'RegExp',
  'TextEncoder',
  'TextDecoder',
  'Intl.Collator',
  'Error',
  'Date',
])

const READ_ONLY = /^(?:readonly\s|Readonly)/
const LIST = /^(?:Array<|.*\[\]$)/s

/** The state of the modules, as `src/http/server.ts counter`, in the order of the files. */
export function moduleState(sources: ReadonlyMap<string, string>): string[] {
  return [...sources].flatMap(([path, source]) => statesOf(path, source).map((name) => `${path} ${name}`))
}

/** The state that is listed, in the same form. */
export const ALLOWED_STATE: readonly string[] = Object.values(ALLOWED)
  .flat()
  .flatMap((line) => {
    const [path, ...names] = line.split(' ')
    return names.map((name) => `${path} ${name}`)
  })

/** What breaks the rule, one sentence each: state that is not listed, and entries of the list without state. */
export function stateFaults(sources: ReadonlyMap<string, string>, allowed = ALLOWED_STATE): string[] {
  const found = moduleState(sources)
  return [
    ...found
      .filter((state) => !allowed.includes(state))
      .map((state) => `${state} is kept for the whole process; see test/kit/moduleState.ts`),
    ...allowed
      .filter((state, i) => !found.includes(state) || allowed.indexOf(state) < i)
      .map((state) => `${state} is listed, and there is none, or it is listed twice`),
  ]
}

interface AstNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

function statesOf(path: string, source: string): string[] {
  const { program, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)
  const names: string[] = []
  for (const statement of program.body as unknown as readonly AstNode[]) {
    const node =
      statement.type === 'ExportNamedDeclaration' ? (statement.declaration as AstNode | null) : statement
    if (node?.type === 'ClassDeclaration') names.push(...staticsOf(node))
    if (node?.type !== 'VariableDeclaration' || node.declare === true) continue
    for (const { id, init } of node.declarations as readonly {
      readonly id: AstNode
      readonly init: AstNode | null
    }[]) {
      const name = source.slice(id.start, id.end).split(/[:\s]/, 1)[0]!
      if (node.kind !== 'const' || isState(init, annotationOf(id, source), source)) names.push(name)
    }
  }
  return names
}

/** The static members of a class that may change, as `Class.member`. */
function staticsOf(node: AstNode): string[] {
  const { id, body } = node as unknown as {
    readonly id: { readonly name: string } | null
    readonly body: { readonly body: readonly AstNode[] }
  }
  return body.body
    .filter(
      (member) => member.type === 'PropertyDefinition' && member.static === true && member.readonly !== true,
    )
    .map((member) => `${id?.name}.${(member.key as { readonly name: string }).name}`)
}

function annotationOf(id: AstNode, source: string): string {
  const type = id.typeAnnotation as { readonly typeAnnotation: AstNode } | null | undefined
  return type ? source.slice(type.typeAnnotation.start, type.typeAnnotation.end) : ''
}

/** Whether the value of a `const` may change. */
function isState(init: AstNode | null, annotation: string, source: string): boolean {
  if (init === null || READ_ONLY.test(annotation)) return false
  const { type } = init
  if (type === 'TSAsExpression' || type === 'TSSatisfiesExpression')
    return isState(init.expression as AstNode, annotation, source)
  if (type === 'NewExpression') {
    const { start, end } = init.callee as AstNode
    return !STATELESS.has(source.slice(start, end))
  }
  if (type === 'CallExpression') {
    const { start, end, type: calls, object } = init.callee as AstNode
    if (/^(?:Object\.create|Buffer\.(?:alloc\w*|of))$/.test(source.slice(start, end))) return true
    if (calls === 'MemberExpression' && (object as AstNode).type === 'NewExpression')
      return isState(object as AstNode, annotation, source)
  }
  if (type === 'ArrayExpression') return (init.elements as unknown[]).length === 0
  if (type === 'ObjectExpression') return (init.properties as unknown[]).length === 0
  return LIST.test(annotation)
}
