import { Backlog } from '../runtime/backlog.ts'
import type { ApiError } from '../runtime/errors.ts'
import { deviceHash } from '../model/deviceHash.ts'
import type { Update } from '../model/update.ts'
import type { Measured } from '../rules/measured.ts'
import type { Applied } from './applied.ts'
import type { Command } from './command.ts'
import type { Partition } from './partition.ts'
import type { Submitter } from './port.ts'

/** A waiting update. */
export interface UpdateMail {
  readonly update: Update
  /** The bytes that are counted in the bound. */
  readonly bytes: number
  readonly submitter: Submitter
  /** Its result, once it has been applied or refused. */
  result: Applied | ApiError | undefined
  /** The row of its record in its partition's table; −1 if it was refused. */
  row: number
  /** The measurements that were made for it before its evaluation. */
  measured?: Measured
  /** See {@link Prepared}. */
  isRead?: boolean
  textLengths?: ReadonlyMap<string, number>
  hasWaited?: boolean
}

/** A waiting command. */
export interface PartitionCommand extends Command {
  readonly partition: Partition
  /** The bytes that are counted in the bound. */
  readonly bytes: number
  readonly done: (result: unknown) => void
}

/** The updates and commands that wait for a host's next batch, in the order in which they are taken. */
export class Mailboxes {
  /** Commands that are applied before the updates of a batch. */
  readonly beforeUpdates: PartitionCommand[] = []
  /** The waiting updates, by the index of their partition. */
  readonly boxes: UpdateMail[][]
  /** Indices of the partitions with updates, in the order in which they arrived. */
  waiting: number[] = []
  /** Updates of devices that let others go first. */
  readonly backlog = new Backlog<UpdateMail>()
  readonly afterUpdates: PartitionCommand[] = []
  /** How many updates are in the {@link boxes}. */
  updates = 0

  constructor(partitions: number) {
    this.boxes = Array.from({ length: partitions }, () => [])
  }

  /** Whether nothing waits except in the backlog. */
  get isEmpty(): boolean {
    return this.waiting.length === 0 && this.beforeUpdates.length === 0 && this.afterUpdates.length === 0
  }

  /** The index of the partition that handles all updates of a device. */
  indexOf({ sender, deviceId }: Pick<Update, 'sender' | 'deviceId'>): number {
    return (sender?.deviceHash ?? deviceHash(deviceId)) % this.boxes.length
  }

  post(mail: UpdateMail): void {
    const index = this.indexOf(mail.update)
    const box = this.boxes[index]!
    if (box.length === 0) this.waiting.push(index)
    box.push(mail)
    this.updates++
  }

  postCommand(command: PartitionCommand): void {
    if (command.kind.isBeforeUpdates) this.beforeUpdates.push(command)
    else this.afterUpdates.push(command)
  }
}
