import { once } from 'node:events'
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net'

/** What a proxy does with what it is given. */
export type Passage =
  | { readonly kind: 'open' }
  /** Whoever is connected is cut off, and whoever comes. */
  | { readonly kind: 'cut' }
  /** Everybody stays connected, and nothing comes through: as when a cable is pulled. */
  | { readonly kind: 'silent' }
  /** As `silent` for what the clients send; what the server sends comes through. */
  | { readonly kind: 'halfOpen' }
  | { readonly kind: 'late'; readonly milliseconds: number }

/** Between processes and one server: a network that fails on order. */
export class TcpProxy {
  readonly #server = createServer((socket) => this.#take(socket))
  readonly #target: URL
  readonly #pairs = new Set<readonly [client: Socket, server: Socket]>()
  #passage: Passage = { kind: 'open' }

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

  /** Where it is reached, with the scheme of the target. */
  get url(): string {
    return `${this.#target.protocol}//127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** From now on; what was held back comes through where the way is open again, unless the connection was cut. */
  set passage(passage: Passage) {
    this.#passage = passage
    for (const [client, server] of this.#pairs) {
      if (passage.kind === 'cut') {
        client.destroy()
        server.destroy()
      }
      hold(client, passage.kind === 'silent' || passage.kind === 'halfOpen')
      hold(server, passage.kind === 'silent')
    }
  }

  async close(): Promise<void> {
    this.passage = { kind: 'cut' }
    this.#server.close()
    await once(this.#server, 'close')
  }

  #take(client: Socket): void {
    const { kind } = this.#passage
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
    const passage = this.#passage
    const write = () => !to.destroyed && to.write(bytes)
    // All are as late, so they stay in their order.
    if (passage.kind === 'late') setTimeout(write, passage.milliseconds)
    else write()
  }
}

/** What is not read stays with the sender, whose buffers fill. */
function hold(socket: Socket, isHeld: boolean): void {
  if (isHeld) socket.pause()
  else socket.resume()
}
