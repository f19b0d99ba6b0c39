import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the range that the system uses for outgoing connections. */
const FIRST = 20_000
const COUNT = 12_000

/**
 * A free port that no other process gets from this function until this one ends: two tests at the same time would
 * otherwise talk to each other's server. As a sign of that, the process keeps the UDP port of the same number, which the
 * system gives to one process only, and frees when that ends in whatever way.
 */
export async function freePort(first = FIRST, count = COUNT): Promise<number> {
  for (;;) {
    const port = first + Math.floor(Math.random() * count)
    if ((await isReserved(port)) && (await isFree(port))) return port
  }
}

async function isReserved(port: number): Promise<boolean> {
  const sign = createSocket('udp4')
  const isMine = await new Promise<boolean>((resolve) => {
    sign.once('error', () => resolve(false))
    sign.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true))
  })
  if (isMine) sign.unref()
  else sign.close()
  return isMine
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  const isListening = await new Promise<boolean>((resolve) => {
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => resolve(true))
  })
  if (!isListening) return false
  probe.close()
  await once(probe, 'close')
  return true
}
