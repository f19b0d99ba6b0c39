import type { DeviceType, Sender, Update } from '../model/update.ts'

/**
 * An update as a stream or a gateway brings it: what is new in it, and the sender for the rest. A plain object of all fields would
 * be twice as large, and its texts would be made anew for each update.
 */
export class StreamUpdate implements Update {
  /** Of updates of a frame it is found when all of it has been read. */
  sender: Sender
  readonly latitude: number
  readonly longitude: number
  readonly accuracy: number | undefined
  readonly foreground: boolean
  readonly stopped: boolean
  readonly updatedAt: number | undefined
  readonly receivedAt: number
  /** Those of the frame are given to updates that have none, when all of it has been read. */
  stream: string | undefined
  sequence: number | undefined

  constructor(
    sender: Sender,
    latitude: number,
    longitude: number,
    accuracy: number | undefined,
    foreground: boolean,
    stopped: boolean,
    updatedAt: number | undefined,
    receivedAt: number,
    stream: string | undefined,
    sequence: number | undefined,
  ) {
    this.sender = sender
    this.latitude = latitude
    this.longitude = longitude
    this.accuracy = accuracy
    this.foreground = foreground
    this.stopped = stopped
    this.updatedAt = updatedAt
    this.receivedAt = receivedAt
    this.stream = stream
    this.sequence = sequence
  }

  get scope(): number {
    return this.sender.scope
  }
  get deviceId(): string {
    return this.sender.deviceId
  }
  get userId(): string | undefined {
    return this.sender.userId
  }
  get installId(): string | undefined {
    return this.sender.installId
  }
  get deviceType(): DeviceType | undefined {
    return this.sender.deviceType
  }
  get deviceOS(): string | undefined {
    return this.sender.deviceOS
  }
  get deviceMake(): string | undefined {
    return this.sender.deviceMake
  }
  get deviceModel(): string | undefined {
    return this.sender.deviceModel
  }
  get ip(): string {
    return this.sender.ip
  }
  get replayed(): boolean {
    return false
  }
}
