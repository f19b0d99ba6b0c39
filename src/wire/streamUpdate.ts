import type { DeviceType, Sender, Update } from '../model/update.ts'

/**
 * An update from a stream or a gateway: its own fields, and the sender for the others. A plain object of all fields
 * would be twice as large, and would need new strings for each update.
 */
export class StreamUpdate implements Update {
  /** The sender. For updates of a frame, it is looked up when the whole frame has been read. */
  sender: Sender
  readonly latitude: number
  readonly longitude: number
  readonly accuracy: number | undefined
  readonly foreground: boolean
  readonly stopped: boolean
  readonly updatedAt: number | undefined
  readonly receivedAt: number
  /**
   * The stream. Updates without their own stream and sequence get those of the frame when the whole frame has been
   * read.
   */
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
