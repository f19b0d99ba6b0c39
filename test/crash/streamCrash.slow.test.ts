/**
 * Kills a real server again and again under the load of streams, and compares its state with what its clients had
 * seen. What was acknowledged is there, and what is sent again is applied once and in order (G1, G2, G3, G9).
 *
 * RINGFENCE_CRASH_ROUNDS=50 RINGFENCE_SEED=123 node test/crash/streamCrash.slow.test.ts
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Server } from '../kit/server.ts'
import { ENCODINGS, Stream, type Message } from '../kit/stream.ts'
import { until } from '../kit/waiting.ts'
import { circleBody, drawCircles, eventText, PROJECT_DWELL, type Device, type Sent } from './fleet.ts'
import { label, Ledger } from './ledger.ts'
import { Seeded } from './seeded.ts'

const rounds = Number(process.env['RINGFENCE_CRASH_ROUNDS'] ?? 3)
const seed = Number(process.env['RINGFENCE_SEED'] ?? Date.now() % 1e9)
const DEVICES = 240
const STREAMS = 6
const CIRCLES = 40
/** Unacknowledged frames per stream. */
const IN_FLIGHT = 3
const LONGEST_FRAME = 12

/** A frame in flight. */
interface Frame {
  readonly id: number
  readonly parts: readonly { readonly device: Device; readonly sent: Sent; readonly isResend: boolean }[]
}

t.test(`${rounds} rounds, RINGFENCE_SEED=${seed}`, async (t) => {
  const random = new Seeded(seed)
  const data = mkdtempSync(join(tmpdir(), 'ringfence-stream-crash-'))
  const env = { RINGFENCE_SEGMENT_BYTES: '65536', RINGFENCE_SNAPSHOT_BYTES: '65536' }
  const server = await Server.start({ data, env })
  t.teardown(async () => {
    await server.dispose()
    rmSync(data, { recursive: true, force: true })
  })
  const { storeId } = JSON.parse(readFileSync(join(data, 'store.json'), 'utf8'))
  const ledger = new Ledger(server, storeId, DEVICES, random)
  await server.api('PATCH', '/v1/settings', { dwellEvents: true, dwellThreshold: PROJECT_DWELL })
  for (const circle of drawCircles(random, CIRCLES)) {
    const body = circleBody(circle)
    ledger.places.set(body.coordinates.join(), [circle.x, circle.y])
    const answer = await server.api('PUT', `/v1/geofences/near/${circle.externalId}`, body)
    const id: string = answer.body.geofence._id
    ledger.circles.set(id, { ...circle, id })
  }

  for (let round = 0; round < rounds; round++) {
    const drains = round % 3 === 2
    const milliseconds = random.integer(50, 800)
    const load = { over: false }
    const before = ledger.counts.updates + ledger.counts.resends
    const streams = Array.from({ length: STREAMS }, (_, i) => feed(server, ledger, i, random, load))
    // In every other round the time counts from the first acknowledgement, because a slow machine would otherwise
    // have nothing to lose.
    if (round % 2 === 0) await until(() => ledger.counts.updates + ledger.counts.resends > before)
    await sleep(milliseconds)
    if (drains) await server.stop()
    else await server.kill9()
    load.over = true
    await Promise.all(streams)
    await server.restart()
    await ledger.check()
    t.strictSame(
      ledger.faults,
      [],
      `round ${round}: ${drains ? 'SIGTERM' : 'kill -9'} after ${milliseconds} ms`,
    )
    if (ledger.faults.length > 0) break
  }
  // Sends what was in flight again, then checks everything from the first event on.
  await Promise.all(
    Array.from({ length: STREAMS }, (_, i) => feed(server, ledger, i, random, { over: true })),
  )
  ledger.forgetChecks()
  await ledger.check()
  t.strictSame(ledger.faults, [], 'everything at the end')
  const { updates, lost, lostButApplied, resends, events } = ledger.counts
  t.comment(JSON.stringify({ updates, lost, lostButApplied, resends, events }))
  t.ok(updates > 0 && lost > 0 && resends > 0 && events > 0, 'the rounds had something to lose')
  if (!t.passing()) console.error(`RINGFENCE_SEED=${seed}\n${server.output}`)
})

/**
 * One stream with its own devices, each with one update in flight. It first sends what an earlier round left over,
 * then new updates, until the load ends or the stream does. Only acknowledged updates count.
 */
async function feed(
  server: Server,
  ledger: Ledger,
  number: number,
  random: Seeded,
  load: { readonly over: boolean },
): Promise<void> {
  const stream = await Stream.open(server, { encoding: ENCODINGS[number % 3]! }).catch(() => undefined)
  if (stream === undefined) return
  const free = ledger.devices.filter((_device, i) => i % STREAMS === number)
  const frames: Frame[] = []
  let nextId = 1

  const send = (parts: Frame['parts']) => {
    const frame = { id: nextId++, parts }
    frames.push(frame)
    const updates = parts.map(({ sent }) => inEncoding(stream, sent.body))
    stream.send({ type: 'track', id: frame.id, events: true, updates })
  }
  for (const device of free.slice()) {
    for (const sent of device.resends.splice(0)) send([{ device, sent, isResend: true }])
    if (device.inFlight === undefined) continue
    send([{ device, sent: device.inFlight, isResend: false }])
    free.splice(free.indexOf(device), 1)
  }
  try {
    for (;;) {
      while (!load.over && frames.length < IN_FLIGHT && free.length > 0) {
        const count = Math.min(free.length, random.integer(1, LONGEST_FRAME))
        const devices = Array.from(
          { length: count },
          () => free.splice(random.integer(0, free.length - 1), 1)[0]!,
        )
        send(
          devices.map((device) => ({ device, sent: device.next(random, ledger.circles), isResend: false })),
        )
      }
      if (frames.length === 0) break
      const ack = await stream.next()
      const frame = frames.shift()!
      if (ack.type !== 'ack' || ack.id !== frame.id) {
        ledger.fault(`frame ${frame.id} was answered ${JSON.stringify(ack)}`)
        break
      }
      acknowledged(ledger, frame, ack)
      for (const { device, isResend } of frame.parts) if (!isResend) free.push(device)
    }
  } catch {
    // The server is gone, and what was not acknowledged stays in flight.
  }
  for (const { parts } of frames) ledger.counts.lost += parts.length
  await stream.close()
}

/** Compares the events of a frame with those that its updates must cause. */
function acknowledged(ledger: Ledger, { parts }: Frame, ack: Message): void {
  const names = parts.map(({ sent }) => label(sent)).join(', ')
  ledger.compare(
    `G3, G9 events of ${names}`,
    ack.events.map(eventText),
    parts.flatMap(({ sent, isResend }) => (isResend ? [] : sent.events)),
  )
  for (const { _id } of ack.events) {
    if (ledger.answered.has(_id)) ledger.fault(`G2 ${names}: event ${_id} was answered before`)
    ledger.answered.add(_id)
  }
  for (const { device, isResend } of parts) {
    if (isResend) ledger.counts.resends++
    else {
      ledger.counts.updates++
      device.applied()
    }
  }
}

/** Protobuf has no text dates. */
function inEncoding({ encoding }: Stream, body: Sent['body']): object {
  return encoding === 'protobuf' ? { ...body, updatedAt: Date.parse(body.updatedAt) } : body
}
