import { isoDate } from '../model/isoDate.ts'
import type { Encoded } from '../events/fanoutGroup.ts'
import type { PositionsMessage, ShownDevice, WatchedPosition, WrittenPosition } from './messages.ts'
import type { BatchWriter } from './port.ts'

/**
 * A device's position as a message.
 * @param written what codecs keep for other watches
 */
export function positionOf(
  change: WatchedPosition['change'],
  { recordId, userId, deviceId, longitude, latitude, accuracy, updatedAt }: ShownDevice,
  written?: WrittenPosition,
): WatchedPosition {
  return {
    change,
    user: { _id: recordId, userId, deviceId },
    location: { type: 'Point', coordinates: [longitude, latitude] },
    locationAccuracy: Number.isNaN(accuracy) ? undefined : accuracy,
    updatedAt: isoDate(updatedAt),
    written,
  }
}

/** Writes batches with a codec that has no faster way than its messages. */
export class ObjectBatchWriter implements BatchWriter {
  readonly #encode: (message: PositionsMessage) => Encoded
  #watch = ''
  #positions: WatchedPosition[] = []

  constructor(encode: (message: PositionsMessage) => Encoded) {
    this.#encode = encode
  }

  begin(watch: string): void {
    this.#watch = watch
    this.#positions = []
  }

  add(change: WatchedPosition['change'], device: ShownDevice): void {
    this.#positions.push(positionOf(change, device))
  }

  end(): Encoded {
    const message = { type: 'positions', watch: this.#watch, positions: this.#positions } as const
    this.#positions = []
    return this.#encode(message)
  }
}
