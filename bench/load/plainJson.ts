/**
 * Reads frames of the workload as streamFrames.ts writes them, and nothing else: fields are known by their order, so no
 * name is compared and nothing is checked but the number of updates. No reader of JSON that has to doubt its bytes can be cheaper.
 */
const COMMA = 0x2c
const OPEN = 0x7b
const CLOSE = 0x7d
const MINUS = 0x2d
const ZERO = 0x30
/** What stands between the beginning of an update and its id. */
const BEFORE_ID = '{"deviceId":"'.length
const BEFORE_LATITUDE = '","latitude":'.length
const BEFORE_LONGITUDE = ',"longitude":'.length

/** Of at most 15 digits: exact. */
const POWERS = Float64Array.from({ length: 16 }, (_, i) => 10 ** i)

let at = 0

/**
 * @param update told where in the bytes each update's id begins, and its position
 * @returns the frame's id
 */
export function readPlainFrame(
  bytes: Uint8Array,
  idBytes: number,
  update: (idAt: number, latitude: number, longitude: number) => void,
): number {
  at = '{"type":"track","id":'.length
  const id = readNumber(bytes)
  while (bytes[at] !== OPEN) at++
  for (;;) {
    const idAt = at + BEFORE_ID
    at = idAt + idBytes + BEFORE_LATITUDE
    const latitude = readNumber(bytes)
    at += BEFORE_LONGITUDE
    const longitude = readNumber(bytes)
    update(idAt, latitude, longitude)
    while (bytes[at] !== CLOSE) at++
    if (bytes[++at] !== COMMA) return id
    at++
  }
}

function readNumber(bytes: Uint8Array): number {
  const isNegative = bytes[at] === MINUS
  if (isNegative) at++
  let digits = 0
  let dot = -1
  for (; ; at++) {
    const digit = bytes[at]! - ZERO
    if (digit >= 0 && digit <= 9) digits = digits * 10 + digit
    else if (digit === -2) dot = at
    else break
  }
  const value = dot < 0 ? digits : digits / POWERS[at - dot - 1]!
  return isNegative ? -value : value
}
