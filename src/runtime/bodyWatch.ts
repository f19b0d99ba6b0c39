/** The longest headers in bytes. The client refuses longer ones. */
const MAX_HEAD_BYTES = 64 * 1024
const BLANK_LINE = Buffer.from('\r\n\r\n')

/** The part of a socket that is used here. */
interface Pushing {
  push(chunk: Buffer | null, encoding?: BufferEncoding): boolean
}

/**
 * Counts the bytes that arrive on a new connection after the headers of its only answer. The client reads as many
 * bytes as the headers announce and ignores the rest, so only this shows that there was more.
 * @returns a function that returns the number of bytes so far
 */
export function watchBody(socket: Pushing): () => number {
  let head: Buffer | undefined = Buffer.alloc(0)
  let bytes = 0
  const take = (chunk: Buffer): void => {
    if (head === undefined) {
      bytes += chunk.length
      return
    }
    head = Buffer.concat([head, chunk])
    for (;;) {
      const end: number = head.indexOf(BLANK_LINE)
      if (end < 0) break
      const isInterim = /^HTTP\/1\.\d 1\d\d/.test(head.toString('latin1', 0, 12))
      head = head.subarray(end + BLANK_LINE.length)
      if (isInterim) continue
      bytes = head.length
      head = undefined
      return
    }
    if (head.length > MAX_HEAD_BYTES) head = undefined
  }
  const push = socket.push.bind(socket)
  socket.push = (chunk, encoding) => {
    if (chunk !== null) take(chunk)
    return push(chunk, encoding)
  }
  return () => bytes
}
