/** A reader of server-sent events for tests: the parser of the HTML standard, over a request that can be paused. */
import { once } from 'node:events'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { KEYS, type Server } from './server.ts'

export interface ServerSentEvent {
  readonly id: string
  readonly event: string
  // oxlint-disable-next-line typescript/no-explicit-any -- the record of an event, or whatever came
  readonly data: any
}

export class EventSource {
  readonly status: number
  readonly response: IncomingMessage
  /** How many comments came. They show proxies that the connection is alive. */
  comments = 0
  lastComment = ''
  readonly #request: ClientRequest
  readonly #events: ServerSentEvent[] = []
  #ended: 'whole' | 'cut' | undefined
  #wake: () => void = () => undefined
  #rest = ''
  #lines: string[] = []

  private constructor(sent: ClientRequest, response: IncomingMessage) {
    this.#request = sent
    this.response = response
    this.status = response.statusCode!
    response.setEncoding('utf8')
    response.on('data', (text: string) => this.#read(text))
    response.on('error', () => undefined)
    response.on('close', () => {
      this.#ended = response.complete ? 'whole' : 'cut'
      this.#wake()
    })
  }

  /**
   * Opens a stream.
   * @param query is appended to the path, such as `?types=…`
   */
  static async open(
    server: Pick<Server, 'port'>,
    {
      query = '',
      lastEventId,
      key = KEYS.testSecret,
    }: { query?: string; lastEventId?: string; key?: string } = {},
  ): Promise<EventSource> {
    const sent = request({
      host: '127.0.0.1',
      port: server.port,
      path: `/v1/events/stream${query}`,
      headers: { authorization: key, ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
    })
    sent.end()
    sent.on('error', () => undefined)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return new EventSource(sent, response)
  }

  /** The next event, or undefined if the stream ends first. */
  async next(): Promise<ServerSentEvent | undefined> {
    while (this.#events.length === 0) {
      if (this.#ended !== undefined) return undefined
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    return this.#events.shift()
  }

  /** How the stream ended: with its last chunk, or cut off. */
  async end(): Promise<'whole' | 'cut'> {
    while (this.#ended === undefined) await new Promise<void>((resolve) => (this.#wake = resolve))
    return this.#ended
  }

  hangUp(): void {
    this.#request.destroy()
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split(/\r\n|\n|\r/)
    this.#rest = lines.pop()!
    for (const line of lines) {
      if (line !== '') this.#lines.push(line)
      else this.#dispatch()
    }
    this.#wake()
  }

  #dispatch(): void {
    const fields = new Map<string, string>()
    for (const line of this.#lines) {
      const colon = line.indexOf(':')
      if (colon === 0) {
        this.comments++
        this.lastComment = line.slice(1)
      } else fields.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ''))
    }
    this.#lines = []
    const data = fields.get('data')
    if (data === undefined) return
    this.#events.push({ id: fields.get('id')!, event: fields.get('event')!, data: JSON.parse(data) })
  }
}
