/**
 * Preloaded into a process (`--import`). Shifts its clock by CLOCK_SHIFT_MS in all its threads, and leaves durations
 * unchanged.
 */
const shiftMs = Number(process.env['CLOCK_SHIFT_MS'])
if (!Number.isSafeInteger(shiftMs)) throw new Error('CLOCK_SHIFT_MS: a whole number')

const SystemDate = Date

class ShiftedDate extends SystemDate {
  constructor(...parts: []) {
    super(...(parts.length === 0 ? ([ShiftedDate.now()] as unknown as []) : parts))
  }

  static override now(): number {
    return SystemDate.now() + shiftMs
  }
}

globalThis.Date = ShiftedDate as DateConstructor
