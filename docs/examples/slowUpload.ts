import { request, type ClientRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** A file that takes long to arrive: its import runs until it is canceled. */
export class SlowUpload {
  readonly #request: ClientRequest
  readonly #answered: Promise<void>

  constructor(url: string, key: string, beginning: string) {
    this.#request = request(url, {
      method: 'POST',
      headers: { authorization: key, 'content-type': 'text/csv' },
    })
    this.#answered = new Promise((resolve, reject) => {
      this.#request.on('error', reject)
      this.#request.on('response', (response) => response.resume().on('end', resolve))
    })
    this.#request.write(beginning)
  }

  /** Waits for the import. @param newest the newest import that there is */
  async begun(newest: () => Promise<{ readonly _id: string; readonly status: string }>): Promise<string> {
    for (;;) {
      const { _id, status } = await newest()
      if (status === 'running') return _id
      await sleep(10)
    }
  }

  async end(): Promise<void> {
    this.#request.end()
    await this.#answered
  }
}
