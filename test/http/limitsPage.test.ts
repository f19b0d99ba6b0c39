/** The page of the operator has every limit with its default and what it is counted by. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { LIMIT_NAMES, withLimits } from '../../src/http/limits.ts'
import type { Route } from '../../src/http/route.ts'

const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')
/** By name: the default, and what comes behind it. */
const rows = new Map(
  [...page.matchAll(/^\| (`[^|]+) \| (\d+) \| ([^|]+) \|$/gm)].flatMap(([, names, perSecond, by]) =>
    [...names!.matchAll(/`([^`]+)`/g)].map(([, name]) => [name!, { perSecond: Number(perSecond), by: by! }]),
  ),
)

t.test('the table of limits', (t) => {
  for (const name of LIMIT_NAMES) {
    const [method, path] = name === 'management' ? ['GET', '/v1/keys'] : name.split(' ')
    const [route] = withLimits([{ method, path, auth: 'secret' } as Route], {})
    const { perSecond, by } = route!.limit!
    t.equal(rows.get(name)?.perSecond, perSecond, name)
    t.match(rows.get(name)?.by, new RegExp(`^${by}`), `${name} is counted by ${by}`)
  }
  t.end()
})
