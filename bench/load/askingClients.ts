import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Asked, Asking } from './askingChild.ts'
import { processorPins } from './load.ts'

const CHILD = join(import.meta.dirname, 'askingChild.ts')

/** Clients that ask servers, on the processor of the generator: askingChild.ts. */
export class AskingClients {
  readonly #child: ChildProcess
  readonly #ended: Promise<never>

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#ended = once(child, 'exit').then(([code]) => {
      throw new Error(`The clients ended with ${code}.`)
    })
    // Nobody may be waiting for answers when they end.
    this.#ended.catch(() => {})
  }

  /**
   * @param folder gets the file of paths
   * @param key that they send
   */
  static async start(folder: string, paths: readonly string[], key: string): Promise<AskingClients> {
    const file = join(folder, 'asked-paths')
    writeFileSync(file, `${paths.join('\n')}\n`)
    const { generator: pin } = await processorPins()
    const [command, ...args] = [...pin, process.execPath, CHILD, file, key]
    return new AskingClients(spawn(command!, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }))
  }

  /** @returns how many questions were answered; throws if one was answered with anything but 200 */
  async ask(asking: Asking): Promise<number> {
    const answered = once(this.#child, 'message') as Promise<[Asked]>
    this.#child.send(asking)
    const [reply] = await Promise.race([answered, this.#ended])
    if (reply.error !== undefined) throw new Error(reply.error)
    return reply.answers
  }

  stop(): void {
    this.#child.disconnect()
  }
}
