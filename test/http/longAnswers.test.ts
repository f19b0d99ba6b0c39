/** Long answers are written two at a time, and each counts until it has been sent. */
import t from 'tap'
import { LongAnswers } from '../../src/http/longAnswers.ts'
import type { Answer } from '../../src/http/route.ts'

/** Everything that can go on without waiting for the event loop. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

t.test('two are written at a time, until they are sent', async (t) => {
  const long = new LongAnswers()
  const begun: number[] = []
  const answers: Answer[] = []
  for (let i = 0; i < 5; i++)
    void long
      .write(async () => {
        begun.push(i)
        return { json: String(i) }
      })
      .then((answer) => answers.push(answer))
  await settled()
  t.strictSame(begun, [0, 1])
  t.strictSame(
    answers.map(({ json }) => json),
    ['0', '1'],
    'they are written but not sent',
  )
  answers[1]!.sent!()
  await settled()
  t.strictSame(begun, [0, 1, 2])
  answers[1]!.sent!()
  await settled()
  t.strictSame(begun, [0, 1, 2], 'an answer counts once')
  answers[0]!.sent!()
  answers[2]!.sent!()
  await settled()
  t.strictSame(begun, [0, 1, 2, 3, 4])
})

t.test('one that fails lets the next begin', async (t) => {
  const long = new LongAnswers()
  const failing = () => long.write(() => Promise.reject(new Error('no')))
  await Promise.all([1, 2, 3, 4].map(() => t.rejects(failing(), /no/)))
  const leave = await long.enter()
  t.match(await long.write(async () => ({ json: 'x' })), { json: 'x' })
  leave()
})
