import type { CommandKind } from './command.ts'
import { FEEDS } from './feedTable.ts'

/** The rows of a partition that have been told. */
export interface FeedAck {
  readonly partition: number
  readonly numbers: readonly number[]
}

/** Forgets rows of the feed, because the trips have them. */
export const FEED_ACK: CommandKind<FeedAck, undefined> = {
  name: 'feed.ack',
  // It frees room.
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
