import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { BackupSource, BackupContents, HeldContents } from '../backup/port.ts'
import { controlAddress } from './address.ts'
import type { ControlReply, ControlRequest } from './protocol.ts'

/** A refusal of the running server, in its words. */
export class ControlRefused extends Error {
  override name = 'ControlRefused'
}

/** The server's process ended before it sent its last message. */
export class ServerGone extends Error {
  override name = 'ServerGone'

  constructor(cause?: unknown) {
    super('The server stopped before the command was finished.', { cause })
  }
}

/** A connection to the server that runs on the data folder, for one command; undefined if none is running. */
export async function connectControl(dataFolder: string): Promise<ControlClient | undefined> {
  if (!existsSync(dataFolder)) return undefined
  const socket = connect({ path: controlAddress(dataFolder), allowHalfOpen: true })
  try {
    await once(socket, 'connect')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // There is no socket, or a killed server has left one.
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return undefined
    throw error
  }
  return new ControlClient(socket)
}

export class ControlClient implements BackupSource {
  readonly #socket: Socket
  readonly #replies: AsyncIterator<ControlReply>

  constructor(socket: Socket) {
    this.#socket = socket
    this.#replies = repliesOf(socket)
  }

  /**
   * Has the server run a command.
   * @returns its exit code
   * @throws {ControlRefused} {@link ServerGone}
   */
  async run(command: readonly string[], print: (line: string) => void): Promise<number> {
    this.#say({ run: command })
    for (;;) {
      const reply = await this.#next()
      if ('exit' in reply) return reply.exit
      if ('print' in reply) print(reply.print)
    }
  }

  /**
   * Asks the server to copy its event index and to keep its other files unchanged.
   * @throws {ControlRefused} {@link ServerGone}
   */
  async hold(
    folder: string,
    progress: (copied: number, total: number) => void,
    signal: AbortSignal,
  ): Promise<HeldContents> {
    signal.addEventListener('abort', () => this.#socket.destroy())
    this.#say({ hold: folder })
    const held = await this.#untilHeld(progress)
    const release = async (): Promise<void> => {
      this.#socket.end()
      while (!('exit' in (await this.#next())));
    }
    return { ...held, release }
  }

  async #untilHeld(progress: (copied: number, total: number) => void): Promise<BackupContents> {
    for (;;) {
      const reply = await this.#next()
      if ('held' in reply) return reply.held
      if ('copied' in reply) progress(reply.copied, reply.total)
    }
  }

  #say(request: ControlRequest): void {
    this.#socket.write(`${JSON.stringify(request)}\n`)
  }

  async #next(): Promise<ControlReply> {
    let next: IteratorResult<ControlReply>
    try {
      next = await this.#replies.next()
    } catch (error) {
      throw new ServerGone(error)
    }
    if (next.done) throw new ServerGone()
    if ('refused' in next.value) throw new ControlRefused(next.value.refused)
    return next.value
  }
}

async function* repliesOf(socket: Socket): AsyncGenerator<ControlReply, void, undefined> {
  let rest = ''
  for await (const part of socket.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + part).split('\n')
    rest = lines.pop()!
    for (const line of lines) yield JSON.parse(line) as ControlReply
  }
}
