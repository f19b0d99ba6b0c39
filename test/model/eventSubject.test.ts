/** The subjects of events; test/delivery/nats.slow.test.ts publishes to them. */
import t from 'tap'
import { addressOf, SubjectWriter, subjectOf } from '../../src/model/eventSubject.ts'

t.test('tokens are the same whether they are kept or made again', async (t) => {
  // More types and devices than are kept.
  const events = Array.from({ length: 3000 }, (_, i) => ({
    scope: 2 + (i % 4),
    type: `conversion.${i}: 100 %`,
    deviceId: i === 7 ? '' : `van ${i}.*`,
  }))
  const first = events.map(subjectOf)
  t.equal(new Set(first).size, events.length, 'no two events have the same subject')
  const writer = new SubjectWriter()
  for (const again of [events, events.toReversed()])
    for (const event of again) {
      const subject = writer.subjectOf(event)
      if (subject !== first[events.indexOf(event)])
        t.fail(`${subject} for ${event.type} of ${event.deviceId}`)
    }
  t.strictSame(first.map(addressOf), events)
})
