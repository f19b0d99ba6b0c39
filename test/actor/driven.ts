import { FrameWriter } from '../../src/actor/commitCodec.ts'
import { GeofenceEvaluator } from '../../src/rules/geofences.ts'
import type { Applied } from '../../src/actor/applied.ts'
import { Partition } from '../../src/actor/partition.ts'
import { userText } from '../../src/actor/updateResult.ts'
import { snapshotOf } from '../../src/actor/recovery.ts'
import type { StoredEvent } from '../../src/events/port.ts'
import { deviceHash } from '../../src/model/deviceHash.ts'
import type { Sender, Update } from '../../src/model/update.ts'
import { Unfetched } from '../../src/rules/atlas.ts'
import { createEvaluators } from '../../src/rules/evaluators.ts'
import { EvaluatorSet } from '../../src/rules/evaluatorSet.ts'
import { explainUser } from '../../src/users/explain.ts'
import { SALT, type Engine } from './kit.ts'

/** One sender object per content, as streams keep them. */
class Senders {
  private readonly kept = new Map<string, Sender>()

  /** The update in the form in which a stream would deliver it, if a stream can express it. */
  sent(update: Update): Update {
    if (update.description !== undefined || update.metadata !== undefined) return update
    if (update.source !== undefined) return update
    const { scope, deviceId, userId, installId, deviceType, deviceOS, deviceMake, deviceModel, ip } = update
    const texts = { scope, deviceId, userId, installId, deviceType, deviceOS, deviceMake, deviceModel, ip }
    const key = JSON.stringify(texts)
    const sender = this.kept.get(key) ?? { ...texts, deviceHash: deviceHash(deviceId), hint: -1 }
    this.kept.set(key, sender)
    return { ...update, sender }
  }
}

/** One partition that is driven by hand, with one update per commit. */
export class Driven {
  readonly partition = new Partition(3, SALT)
  readonly events: StoredEvent[] = []
  readonly senders = new Senders()
  private readonly writer = new FrameWriter()
  private readonly engine: Engine

  constructor(engine: Engine) {
    this.engine = engine
  }

  apply(update: Update): { applied: Applied; frame: Buffer } {
    const { clock, world } = this.engine
    this.writer.begin(clock.now())
    this.partition.begin(this.writer, clock.now(), world.revision)
    const result = this.partition.apply(update, world.scope(update.scope), this.writer, false)
    this.partition.end(this.writer, this.events)
    if (typeof result === 'symbol' || !('events' in result)) throw new Error(String(result))
    return { applied: result, frame: Buffer.from(this.writer.take()) }
  }

  /** All users as a reader sees them at this time. */
  users(): string[] {
    const { table } = this.partition
    const users = []
    for (let row = 0; row < table.length; row++) {
      const view = this.engine.world.scope(table.scope(row))
      if (table.exists(row)) users.push(userText(table, row, view, this.engine.clock.now()))
    }
    return users
  }

  /** Why the last update of each user changed its place, or did not. */
  explanations(): string[] {
    const { table } = this.partition
    const reasons = []
    for (let row = 0; row < table.length; row++) {
      if (!table.exists(row)) continue
      const explanation = explainUser(this.partition, row, this.engine.world.scope(table.scope(row)))
      if (explanation instanceof Unfetched) throw new Error('the atlas must fetch something first')
      reasons.push(JSON.stringify(explanation.place ?? explanation.placesNote ?? 'off'))
    }
    return reasons
  }

  snapshot(): Buffer {
    const { world, clock } = this.engine
    return Buffer.from(snapshotOf(this.partition, world.revision, clock.now()))
  }
}

/** Ends all safe zones and forgets all cached candidates. */
export function endZones({ table }: Partition): void {
  for (let row = 0; row < table.length; row++) {
    table.endZone(row)
    table.candidateCache.forget(row)
  }
}

/** Every update goes through the full step. */
export function withoutZones(partition: Partition): void {
  const evaluators = createEvaluators()
  const { finder } = evaluators.find((one) => one instanceof GeofenceEvaluator)!
  finder.unchangedLimits = () => undefined
  partition.evaluators = new EvaluatorSet(evaluators)
}
