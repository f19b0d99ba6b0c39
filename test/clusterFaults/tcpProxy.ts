import { once } from 'node:events'
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net'

/** What a proxy does with the bytes that it receives. */
export type LinkState =
  | { readonly kind: 'open' }
  /** All connections are closed, and so are new ones. */
  | { readonly kind: 'cut' }
  /** All connections stay open and no bytes pass, as when a cable is pulled. */
  | { readonly kind: 'silent' }
  /** Like `silent` for what clients send; what the server sends passes. */
  | { readonly kind: 'halfOpen' }
  | { readonly kind: 'late'; readonly milliseconds: number }

/** Stands between processes and one server, as a network that fails on demand. */
export class TcpProxy {
  readonly #server = createServer((socket) => this.#take(socket))
  readonly #target: URL
  readonly #pairs = new Set<readonly [client: Socket, server: Socket]>()
  #state: LinkState = { kind: 'open' }

  private constructor(target: URL) {
    this.#target = target
  }

  /** @param target `nats://HOST:PORT` */
  static async open(target: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(target))
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  /** The address of the proxy, with the scheme of the target. */
  get url(): string {
    return `${this.#target.protocol}//127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /**
   * Takes effect immediately. Bytes that were held back pass when the way is open again, unless the connection was
   * cut.
   */
  set state(state: LinkState) {
    this.#state = state
    for (const [client, server] of this.#pairs) {
      if (state.kind === 'cut') {
        client.destroy()
        server.destroy()
      }
      hold(client, state.kind === 'silent' || state.kind === 'halfOpen')
      hold(server, state.kind === 'silent')
    }
  }

  async close(): Promise<void> {
    this.state = { kind: 'cut' }
    this.#server.close()
    await once(this.#server, 'close')
  }

  #take(client: Socket): void {
    const { kind } = this.#state
    if (kind === 'cut') return void client.destroy()
    const server = createConnection(Number(this.#target.port), this.#target.hostname)
    const pair = [client, server] as const
    this.#pairs.add(pair)
    for (const [from, to] of [pair, [server, client]] as const) {
      from.setNoDelay(true)
      from.on('error', () => {})
      from.on('data', (bytes: Buffer) => this.#pass(bytes, to))
      from.on('close', () => {
        this.#pairs.delete(pair)
        to.destroy()
      })
    }
    hold(client, kind === 'silent' || kind === 'halfOpen')
    hold(server, kind === 'silent')
  }

  #pass(bytes: Buffer, to: Socket): void {
    const state = this.#state
    const write = () => !to.destroyed && to.write(bytes)
    // All bytes are delayed equally, so they stay in order.
    if (state.kind === 'late') setTimeout(write, state.milliseconds)
    else write()
  }
}

/** Bytes that are not read stay with the sender, whose buffers fill. */
function hold(socket: Socket, isHeld: boolean): void {
  if (isHeld) socket.pause()
  else socket.resume()
}
