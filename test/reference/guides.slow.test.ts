/** The guides are correct: their commands work unchanged, and the answers are those that the guides show. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { tile38Server, WITHOUT_FOLLOWERS } from '../kit/tile38.ts'
import { GUIDES, runSteps, stepsOfGuide, withServer } from './guideRun.ts'

/** Pages without commands. */
const WORDS_ALONE = new Set(['../compatibility', 'data'])

/** As in the list of guides: `quickstart`, `../operating`. */
const listed = [
  ...readFileSync(new URL('README.md', GUIDES), 'utf8').matchAll(/\(([./]*[a-z-]+)\.md\)/g),
].map(([, name]) => name!)
const names = listed.filter((name) => !WORDS_ALONE.has(name))

t.test('on a fresh data folder', async (t) => {
  // The guides wait more than they work. The longest ones start first.
  t.jobs = 4
  t.test('all guides, one after the other', { buffered: true }, async (t) => {
    await withServer(async (folder, url) => {
      for (const name of names.filter((one) => !one.startsWith('../')))
        t.strictSame(await runSteps(stepsOfGuide(name), folder, url), [], name)
    })
  })
  for (const name of names.toSorted()) {
    t.test(`${name}, alone`, { buffered: true }, async (t) => {
      const steps = stepsOfGuide(name)
      t.ok(steps.length > 0, 'has commands')
      await withServer(async (folder, url) => t.strictSame(await runSteps(steps, folder, url), []))
    })
  }
})

t.test(
  'geocoding as soon as a first start listens: the world and the sample are still to be made',
  async (t) => {
    await withServer(
      async (folder, url) => t.strictSame(await runSteps(stepsOfGuide('geocoding'), folder, url), []),
      { RINGFENCE_SAMPLE_REGION: 'on' },
      false,
    )
  },
)

t.test('hooks of areas and roaming', { skip: WITHOUT_FOLLOWERS }, async (t) => {
  const steps = stepsOfGuide('hooks', true)
  t.equal(steps.length, stepsOfGuide('hooks').length + 2)
  const { url: tile38 } = await tile38Server(t)
  await withServer(async (folder, url) => t.strictSame(await runSteps(steps, folder, url), []), {
    RINGFENCE_TILE38_URL: tile38,
  })
})
