/**
 * Every regular expression of the project takes time in proportion to its input (issue 12, 1). The expressions are
 * found in the syntax of the code and checked in two ways. recheck proves with its automaton, or searches, how the
 * number of steps grows in the worst case, also if the search for a match starts again at each character. V8 runs
 * each on long hostile texts, which also shows that its stack is large enough.
 */
import t from 'tap'
import { growthOf, ownCost } from './growth.ts'
import { patternsOf, projectPatterns, type Pattern } from './patterns.ts'
import { PROVEN, textOf, verdictOf } from './verdict.ts'

/** The quick suite proves what was not proved before; all is proved where more is drawn. */
const isKnown = (pattern: Pattern): boolean =>
  process.env['RINGFENCE_TEST_RUNS'] === undefined && PROVEN.has(textOf(pattern))

/** Characters of the longest text that V8 is given. */
const LENGTH = 16 * 1024
const LEAST_MS = 0.5

/** Ends of hostile texts. For each pattern, one of them does not match. */
const ENDS = ['\u0001', '0a']

/** Texts in which a pattern may have to go far before it fails: its own characters, repeated. */
function* hostileTexts({ source }: Pick<Pattern, 'source'>): Generator<string> {
  const plain = source.replaceAll(
    /\\([dws])/gi,
    (_, kind: string) => ({ d: '0', w: 'a', s: ' ' })[kind] ?? '0a ',
  )
  const letters = [...new Set(plain + '0a ')]
  const pairs = letters.map((_, i) => plain.slice(i, i + 2)).filter((pair) => pair.length === 2)
  for (const piece of new Set([...letters, ...pairs])) {
    const text = piece.repeat(LENGTH)
    yield text
    yield `0${text}`
  }
}

async function worstGrowth(pattern: Pick<Pattern, 'source' | 'flags'>): Promise<string | undefined> {
  const regex = new RegExp(pattern.source, pattern.flags)
  for (const hostile of hostileTexts(pattern)) {
    for (const end of ENDS) {
      const cost = (size: number) => {
        const text = hostile.slice(0, size) + end
        regex.lastIndex = 0
        return ownCost(() => void text.replace(regex, ''))
      }
      const { small, large, isLinear } = await growthOf(cost, LENGTH, LEAST_MS)
      if (!isLinear) return `${large} ms after ${small} ms on ${JSON.stringify(hostile.slice(0, 10))}…`
    }
  }
  return undefined
}

const { patterns, unknown } = projectPatterns()

/** Files that put patterns of a library together, and why their cost is bounded all the same. */
const OF_LIBRARIES: ReadonlySet<string> = new Set([
  // It gives them texts of a few hundred characters at most.
  'src/geo/geocoding/cityLines.ts',
])

t.test('all patterns are found', async (t) => {
  t.ok(patterns.length > 80, `${patterns.length} patterns`)
  const others = unknown.filter((place) => !OF_LIBRARIES.has(place.split(':')[0]!))
  t.strictSame(others, [], 'none is put together while the program runs')
  const text = `
    const a = /a+/g
    const b: RegExp = new RegExp('b+', 'i')
    RegExp("c+")
    text.match('d+')
    Type.String({ pattern: 'e+' })
    new RegExp(\`\${f}+\`)
    new RegExp(/g+/)
  `
  const found = patternsOf([['some.ts', text]])
  t.strictSame(
    found.patterns.map(({ source, flags }) => `/${source}/${flags}`),
    ['/a+/g', '/b+/i', '/c+/', '/d+/', '/e+/u', '/g+/'],
  )
  t.strictSame(found.unknown, ['some.ts:7'])
})

t.test('quadratic and worse patterns are distinguished from linear ones', async (t) => {
  const bad: readonly (readonly [source: string, flags: string])[] = [
    // Patterns that this project once had.
    ['^[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:e[+-]?\\d+)?$', 'i'],
    ['\\/+$', ''],
    ['^[^a-z0-9]+|[^a-z0-9]+$', 'g'],
    ['<[^>]+>|&\\w+;', 'g'],
    ['\\s+x', ''],
  ]
  for (const [source, flags] of bad) {
    t.match(verdictOf({ source, flags }), /polynomial|exponential/, `/${source}/`)
    t.type(await worstGrowth({ source, flags }), 'string', `/${source}/ as V8 runs it`)
  }
  t.match(verdictOf({ source: '^(?:a|b|ab)*c', flags: '' }), /exponential/)
  t.equal(verdictOf({ source: '^[+-]?(?:\\d+(?:\\.\\d*)?|\\.\\d+)$', flags: '' }), undefined)
})

t.test('each pattern takes linear time', async (t) => {
  for (const pattern of patterns) {
    const name = `/${pattern.source}/${pattern.flags} at ${pattern.places.join(', ')}`
    if (!isKnown(pattern)) t.equal(verdictOf(pattern), undefined, name)
    t.equal(await worstGrowth(pattern), undefined, `${name}, as V8 runs it`)
  }
})
