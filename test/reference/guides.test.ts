/** The quickstart is correct, and an incorrect guide would be noticed. guides.slow.test.ts runs all guides. */
import t from 'tap'
import { runSteps, stepsOf, stepsOfGuide, withServer } from './guideRun.ts'

t.test('the quickstart, on a fresh data folder', async (t) => {
  await withServer(async (folder, url) =>
    t.strictSame(await runSteps(stepsOfGuide('quickstart'), folder, url), []),
  )
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
