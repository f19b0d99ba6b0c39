import { FIELD } from './updateFields.ts'

/** How many slots the table has, which is enough for each name to have its own. */
const SLOTS = 64

/** Maps names to numbers by their bytes. */
export class FieldNames {
  readonly #names: (Uint8Array | undefined)[] = Array.from({ length: SLOTS })
  readonly #numbers = new Int32Array(SLOTS)
  readonly #jsonNames = new Map<number, Uint8Array>()

  /**
   * Places the names.
   * @throws Error if two of them share a slot
   */
  constructor(numbers: Readonly<Record<string, number>>) {
    for (const [name, number] of Object.entries(numbers)) {
      const bytes = Buffer.from(name)
      const slot = slotOf(bytes, 0, bytes.length)
      if (this.#names[slot] !== undefined) throw new Error(`${name} shares a slot`)
      this.#names[slot] = bytes
      this.#numbers[slot] = number
      this.#jsonNames.set(number, new Uint8Array(Buffer.from(`"${name}":`)))
    }
  }

  /** How JSON writes the name with that number, with its quotes and colon. */
  inJson(number: number): Uint8Array {
    return this.#jsonNames.get(number)!
  }

  /** The number of the name from `start` to `end`; 0 if it is not one of the names. */
  find(bytes: Uint8Array, start: number, end: number): number {
    if (end - start < 2) return 0
    const slot = slotOf(bytes, start, end)
    const name = this.#names[slot]
    if (name === undefined || name.length !== end - start) return 0
    for (let i = 0; i < name.length; i++) if (name[i] !== bytes[start + i]) return 0
    return this.#numbers[slot]!
  }
}

/** The slot of a name. The factors were found by search, so that the names below have different slots. */
function slotOf(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start
  return (bytes[start]! + bytes[end - 2]! + bytes[end - 1]! * 13 + length * 7) & (SLOTS - 1)
}

/** The field names of an update. */
export const updateFields = new FieldNames(FIELD)

/** The field names of a frame, as {@link frameFields} returns them. */
export const FRAME = { type: 1, id: 2, updates: 4, events: 8, stream: 16, sequence: 32 } as const
export const frameFields = new FieldNames(FRAME)
