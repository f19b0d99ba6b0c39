import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Longer than the server takes to note an answer. */
const NOTED_MS = 200

/** The receiver of the story's webhook. It answers every request with thanks. */
export class Receiver {
  readonly #server: Server
  #requests = 0
  /** Whether it leaves requests without an answer. */
  isSilent = false

  private constructor() {
    this.#server = createServer((request, response) => {
      request.resume().on('end', () => {
        this.#requests++
        if (!this.isSilent) response.end('thanks')
      })
    })
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver()
    await once(receiver.#server.listen(0, '127.0.0.1'), 'listening')
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Resolves once this many requests have arrived and the sender has noted the answers. */
  async until(requests: number): Promise<void> {
    while (this.#requests < requests) await sleep(10)
    await sleep(NOTED_MS)
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
