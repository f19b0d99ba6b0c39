import type { CommandKind } from './command.ts'
import { FEEDS } from './feedTable.ts'

/** The rows of a partition that have been reported. */
export interface FeedAck {
  readonly partition: number
  readonly numbers: readonly number[]
}

/** Removes rows from the feed that the trips have received. */
export const FEED_ACK: CommandKind<FeedAck, undefined> = {
  name: 'feed.ack',
  // It is never refused, because it frees room.
  isBounded: false,
  isBeforeUpdates: true,

  partitionOf: ({ partition }) => partition,

  encode: ({ partition, numbers }) => [partition, numbers],
  decode(packed) {
    const [partition, numbers] = packed as [number, number[]]
    return { partition, numbers }
  },

  apply(partition, { numbers }, { writer }) {
    partition.tableOf(FEEDS).done(writer, numbers)
    return undefined
  },

  repeat: (apply) => apply(),
}
