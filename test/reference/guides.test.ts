/** The guides are true: their commands work as they stand, and answer what the guides show. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { Server } from '../kit/server.ts'
import { readersFolder, runSteps, stepsOf } from './guideRun.ts'

const GUIDES = new URL('../../docs/guides/', import.meta.url)
/** As in the list: `quickstart`, `../operating`. */
const names = [...readFileSync(new URL('README.md', GUIDES), 'utf8').matchAll(/\(([./]*[a-z-]+)\.md\)/g)].map(
  ([, name]) => name!,
)
const stepsOfGuide = (name: string) => stepsOf(readFileSync(new URL(`${name}.md`, GUIDES), 'utf8'))

t.test('on a fresh data folder', async (t) => {
  // They wait more than they work; the longest begin.
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

t.test('commands that fail, and answers that differ, are found', async (t) => {
  const keys = '```sh\nURL=http://127.0.0.1:8080\nSK=prj_test_sk_x\n```\n'
  const settings = '```sh\ncurl -s $URL/v1/settings -H "Authorization: $SK"\n```\n'
  const cases: readonly (readonly [markdown: string, problem: RegExp | undefined])[] = [
    [`${settings}\`\`\`json\n{ "settings": { "minimumConfidence": 1 } }\n\`\`\``, undefined],
    [`${settings}\`\`\`json\n{ "settings": { "minimumConfidence": 2 } }\n\`\`\``, /Confidence is 1, not 2/],
    [`${settings}\`\`\`json\n{ "settings": { "nonsense": 2 } }\n\`\`\``, /nonsense is undefined/],
    [`${settings}\`\`\`json\n{ "meta": [] }\n\`\`\``, /not a list of 0/],
    ['```sh\ncurl -s $URL/v1/settings\n```\n', /answered 401/],
    ['```sh\nfalse\n```\n', /failed/],
    ['```sh\necho $NOWHERE\n```\n', /failed: .*NOWHERE/],
    ['```sh\necho 12 rows read\n```\n```text\n… rows read\n```\n', undefined],
    ['```sh\necho 12 rows\n```\n```text\n… rows read\n```\n', /lacks "… rows read"/],
  ]
  await withServer(async (folder, url) => {
    for (const [markdown, problem] of cases) {
      const problems = await runSteps(stepsOf(keys + markdown), folder, url)
      if (problem === undefined) t.strictSame(problems, [], markdown)
      else t.match(problems, [problem], markdown)
    }
  })
})

/** Gives a reader's folder in which a server runs, with the limits that readers meet. */
async function withServer<T>(run: (folder: string, url: string) => Promise<T>): Promise<T> {
  const folder = readersFolder()
  const env = { RINGFENCE_RATE_LIMITS: 'on', RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.1' }
  const server = await Server.start({ data: folder.data, env, sample: true })
  try {
    return await run(folder.path, server.url)
  } finally {
    await server.dispose()
    folder.remove()
  }
}
