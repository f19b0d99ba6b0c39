/**
 * The part of the Redis protocol (RESP 2), which Tile38 speaks, that is needed for load. Commands are bytes that can
 * be made before the measurement begins, and replies are read without a client library.
 */
import { connect, type Socket } from 'node:net'

/** A simple string, bulk string, number, null or error, or an array of them. */
export type Reply = string | number | null | Error | readonly Reply[]

const CR = 13

/** The command as an array of bulk strings. */
export function command(...words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`
}

/** Splits what a server sends into replies. */
export class ReplyReader {
  #buffer: Buffer = Buffer.alloc(0)
  #at = 0

  receive(data: Buffer, take: (reply: Reply) => void): void {
    this.#buffer = this.#buffer.length === 0 ? data : Buffer.concat([this.#buffer, data])
    let taken = 0
    for (this.#at = 0; this.#at < this.#buffer.length; taken = this.#at) {
      const reply = this.#read()
      if (reply === undefined) break
      take(reply)
    }
    this.#buffer = this.#buffer.subarray(taken)
  }

  /** Reads the next reply; undefined if it is not complete yet. */
  #read(): Reply | undefined {
    const end = this.#buffer.indexOf(CR, this.#at)
    if (end < 0 || end + 2 > this.#buffer.length) return undefined
    const kind = this.#buffer[this.#at]
    const text = this.#buffer.toString('latin1', this.#at + 1, end)
    this.#at = end + 2
    switch (kind) {
      case 0x2b: // +
        return text
      case 0x2d: // -
        return new Error(text)
      case 0x3a: // :
        return Number(text)
      case 0x24: // $
        return this.#bulk(Number(text))
      case 0x2a: // *
        return this.#array(Number(text))
      default:
        throw new Error(`not RESP: ${String.fromCharCode(kind ?? 0)}${text}`)
    }
  }

  #bulk(length: number): string | null | undefined {
    if (length < 0) return null
    const from = this.#at
    if (from + length + 2 > this.#buffer.length) return undefined
    this.#at = from + length + 2
    return this.#buffer.toString('utf8', from, from + length)
  }

  #array(length: number): Reply[] | undefined {
    const items: Reply[] = []
    while (items.length < length) {
      const item = this.#read()
      if (item === undefined) return undefined
      items.push(item)
    }
    return items
  }
}

/** A connection that sends pipelines, one after another. */
export class RespConnection {
  readonly #socket: Socket
  readonly #reader = new ReplyReader()
  #replies: Reply[] = []
  #expected = 0
  #settle: { resolve: (replies: Reply[]) => void; reject: (error: Error) => void } | undefined

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('data', (data) => this.#reader.receive(data, (reply) => this.#take(reply)))
    this.#socket.on('error', (error) => this.#settle?.reject(error))
    this.#socket.on('close', () => this.#settle?.reject(new Error('the connection was closed')))
  }

  /**
   * @param commands made by {@link command}
   * @throws Error if one was refused
   */
  async send(commands: readonly string[]): Promise<readonly Reply[]> {
    const replies = await new Promise<Reply[]>((resolve, reject) => {
      this.#settle = { resolve, reject }
      this.#replies = []
      this.#expected = commands.length
      this.#socket.write(commands.join(''))
    })
    const refused = replies.findIndex((reply) => reply instanceof Error)
    if (refused >= 0) throw new Error(`${String(replies[refused])}\nto ${commands[refused]!.slice(0, 300)}`)
    return replies
  }

  close(): void {
    this.#settle = undefined
    this.#socket.destroy()
  }

  #take(reply: Reply): void {
    if (this.#replies.push(reply) === this.#expected) this.#settle?.resolve(this.#replies)
  }
}
