import type { ActorType } from './actorType.ts'
import { CONVERSION } from './conversion.ts'
import { DEVICE_TYPE } from './deviceRows.ts'
import { DeviceTable } from './deviceTable.ts'
import { FEED_ACK } from './feedAck.ts'
import { FEEDS } from './feedTable.ts'
import { REMOVAL } from './removal.ts'

/** The actors that receive updates. Their rows have their own kinds in a commit (deviceRows.ts). */
export const DEVICES: ActorType<DeviceTable> = {
  name: 'device',
  number: DEVICE_TYPE,
  commands: [CONVERSION, REMOVAL],
  createTable: () => new DeviceTable(),
}

/** All types of actors that a partition holds; devices are the first. */
export const ACTOR_TYPES: readonly ActorType[] = [DEVICES, { ...FEEDS, commands: [FEED_ACK] }]
