import { failureFields } from '../../runtime/errors.ts'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import type { BackupSource } from '../backup/port.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { controlAddress } from './address.ts'
import type { ControlReply, ControlRequest } from './protocol.ts'

/** A line that is longer than this cannot come from a command line. */
const MAX_LINE_LENGTH = 4 * 1024 * 1024

export interface ControlParts {
  readonly dataFolder: string
  /** Runs a command; returns its exit code. */
  readonly run: (command: readonly string[], print: (line: string) => void) => Promise<number>
  readonly store: BackupSource
  readonly logger: Logger
}

/**
 * The operator's socket of a running server. It needs no keys: whoever may open the data folder is the operator.
 *
 * The socket of a killed server is replaced, because the lock of the data folder shows that the server is gone. If the
 * file system has no sockets, the server runs without one, and commands require that it is stopped.
 */
export class ControlServer implements Service {
  readonly name = 'operator socket'
  readonly #parts: ControlParts
  readonly #server: Server
  readonly #open = new Map<Socket, Promise<void>>()

  constructor(parts: ControlParts) {
    this.#parts = parts
    this.#server = createServer({ allowHalfOpen: true }, (socket) => {
      this.#open.set(
        socket,
        this.#serve(socket).finally(() => this.#open.delete(socket)),
      )
    })
  }

  async start(): Promise<void> {
    try {
      const address = controlAddress(this.#parts.dataFolder)
      if (process.platform !== 'win32') rmSync(address, { force: true })
      // Nobody else may ever open it, and it is created within listen().
      const mask = process.umask(0o177)
      try {
        this.#server.listen(address)
      } finally {
        process.umask(mask)
      }
      await once(this.#server, 'listening')
    } catch (error) {
      this.#parts.logger.warn(
        failureFields(error),
        'no operator socket: operator commands only work while the server is stopped',
      )
    }
  }

  /** Stops listening, and gives up a running backup. */
  async stop(): Promise<void> {
    this.#server.close()
    const served = [...this.#open.values()]
    for (const socket of this.#open.keys()) socket.destroy()
    await Promise.all(served)
  }

  /** Serves one connection. It never rejects. */
  async #serve(socket: Socket): Promise<void> {
    const { logger } = this.#parts
    const ended = new AbortController()
    socket.on('end', () => ended.abort())
    socket.on('close', () => ended.abort())
    socket.on('error', (error) => logger.debug(failureFields(error), 'operator disconnected'))
    const say = (reply: ControlReply): void => void socket.write(`${JSON.stringify(reply)}\n`)
    try {
      const request = await firstLine(socket)
      if (request === undefined) return
      if ('run' in request) say({ exit: await this.#parts.run(request.run, (line) => say({ print: line })) })
      else await this.#hold(request.hold, say, ended.signal)
    } catch (error) {
      logger.warn(failureFields(error), 'operator refused')
      say({ refused: (error as Error).message })
    } finally {
      socket.end()
    }
  }

  async #hold(folder: string, say: (reply: ControlReply) => void, ended: AbortSignal): Promise<void> {
    const progress = (copied: number, total: number): void => say({ copied, total })
    const { release, ...held } = await this.#parts.store.hold(folder, progress, ended)
    try {
      say({ held })
      if (!ended.aborted) await once(ended, 'abort')
    } finally {
      await release()
    }
    say({ exit: 0 })
  }
}

/** The first message; undefined if the connection ends before there is one. */
function firstLine(socket: Socket): Promise<ControlRequest | undefined> {
  return new Promise((resolve, reject) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part
      if (text.length > MAX_LINE_LENGTH) socket.destroy(new Error('The command is too long.'))
      // Only the new part is searched, because the whole text would be searched again with each part.
      if (!part.includes('\n')) return
      try {
        resolve(requestIn(text))
      } catch (error) {
        reject(error as Error)
      }
    })
    socket.on('end', () => resolve(undefined))
    socket.on('close', () => resolve(undefined))
  })
}

/**
 * Reads a message.
 * @throws Error with a sentence for the operator
 */
function requestIn(text: string): ControlRequest {
  let said: unknown
  try {
    said = JSON.parse(text)
  } catch {
    throw new Error('The command must be a JSON object on one line.')
  }
  const { run, hold } = (said ?? {}) as { run?: unknown; hold?: unknown }
  if (Array.isArray(run) && run.every((word) => typeof word === 'string')) return { run }
  if (typeof hold === 'string') return { hold }
  throw new Error('The server does not know this command. Is it another version?')
}
