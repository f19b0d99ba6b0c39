/** The store of deliveries: the database itself, its retention, and the thread that it runs in. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { WebhookDatabase } from '../../src/delivery/webhookDatabase.ts'
import type { Delivery, DeliveryStatus } from '../../src/delivery/webhookPort.ts'
import { openDeliveries } from '../../src/delivery/webhookThread.ts'

const DAY = 86_400_000
const RETENTION = { deliveriesDays: 2, deliveriesRows: 1500 }
const A = 'a'.repeat(24)
const B = 'b'.repeat(24)

function fileFor(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-deliveries-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return join(folder, 'deliveries.sqlite')
}

function delivery(number: number, webhookId: string, status: DeliveryStatus, createdAt = 0): Delivery {
  return {
    id: number.toString(16).padStart(24, '0'),
    webhookId,
    messageId: `msg_${number}`,
    deviceId: `d${number}`,
    userRecordId: '',
    eventIds: [`e${number}`],
    types: ['bought'],
    multiple: false,
    createdAt,
    status,
    attemptCount: 0,
    attempts: [],
    failures: 0,
  }
}

const idsOf = (deliveries: readonly Delivery[]) => deliveries.map(({ id }) => Number.parseInt(id, 16))

t.test('finished deliveries are kept for some days and rows, pending ones until they end', async (t) => {
  const database = new WebhookDatabase(fileFor(t), RETENTION)
  t.teardown(() => database.close())
  const now = 10 * DAY
  const tidy = () => {
    let rounds = 1
    while (database.tidySome(now)) rounds++
    return rounds
  }
  const old = Array.from({ length: 2100 }, (_, i) => delivery(i, A, i % 100 === 0 ? 'pending' : 'delivered'))
  database.take(A, { offset: 1 }, old)
  database.take(B, { offset: 1 }, [delivery(9000, B, 'failed', now), delivery(9001, B, 'pending', now)])
  t.ok(tidy() >= 3, 'in portions')
  t.same(
    idsOf(database.pending(A)),
    Array.from({ length: 21 }, (_, i) => i * 100),
  )
  t.equal(database.list(A, { limit: 1000 }).deliveries.length, 21)
  t.equal(database.list(B, { limit: 1000 }).deliveries.length, 2)

  database.take(
    A,
    { offset: 2 },
    Array.from({ length: 2000 }, (_, i) => delivery(3000 + i, A, 'delivered', now)),
  )
  tidy()
  const { deliveries } = database.list(A, { limit: 10_000 })
  t.equal(deliveries.length, 1500 + 21)
  t.equal(idsOf(deliveries)[0], 4999)
  t.equal(idsOf(deliveries)[1499], 3500)

  database.remove(A)
  tidy()
  t.equal(database.list(A, { limit: 1 }).deliveries.length, 0)
  t.same([...database.states().keys()], [B])
  t.same(idsOf(database.list(B, { limit: 10, status: 'failed' }).deliveries), [9000])
  t.equal(database.get(A, delivery(9000, B, 'failed').id), undefined, 'of its own webhook only')
})

t.test('the thread answers in order, and confirmed changes survive a restart', async (t) => {
  const file = fileFor(t)
  const failed = (error: Error) => t.fail(error.message)
  const store = await openDeliveries({ file, retention: RETENTION, failed })
  void store.begin(A, { offset: 7 })
  const now = Date.now()
  void store.take(A, { offset: 8 }, [delivery(1, A, 'pending', now), delivery(2, A, 'pending', now)])
  void store.save({ ...delivery(1, A, 'delivered', now), attemptCount: 1 })
  t.same(idsOf(await store.pending(A)), [2])
  t.match(await store.get(A, delivery(1, A, 'delivered').id), { status: 'delivered', attemptCount: 1 })
  await store.close()
  await t.rejects(store.states(), { name: 'DeliveriesFailed' })
  const again = await openDeliveries({ file, retention: RETENTION, failed })
  t.same(await again.states(), new Map([[A, { offset: 8 }]]))
  const raw = new Database(file, { readonly: true })
  t.strictSame(
    raw.prepare('SELECT state FROM webhooks').pluck().all(),
    ['{"place":8}'],
    'as other versions have it',
  )
  raw.close()
  await again.close()
})

t.test('a foreign file is named and not changed; a failure is reported', async (t) => {
  const file = fileFor(t)
  const never = () => t.fail('told twice')
  writeFileSync(file, 'x'.repeat(5000))
  await t.rejects(openDeliveries({ file, retention: RETENTION, failed: never }), {
    name: 'DeliveriesUnreadable',
    message: /deliveries\.sqlite cannot be used: .*not a database\. If you move the file away, webhooks/,
  })
  const other = fileFor(t)
  const told = new Promise<Error>((resolve) => {
    void openDeliveries({ file: other, retention: RETENTION, failed: resolve }).then((store) =>
      // Twice the same id.
      store.take(A, { offset: 1 }, [delivery(1, A, 'pending'), delivery(1, A, 'pending')]).catch(() => {}),
    )
  })
  t.match(await told, { name: 'DeliveriesFailed', message: /UNIQUE/ })
})
