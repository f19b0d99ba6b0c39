/** Processes of the distributed engine that cannot start or have to wait. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { until } from '../kit/waiting.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer } from '../kit/nats.ts'
import { freePort } from '../kit/freePort.ts'

const skip = await skipWithout(NATS_SERVER)
const ENV = { RINGFENCE_ENGINE: 'distributed', RINGFENCE_PARTITIONS: '8' }

/** A server that claims to be NATS 2.10 and accepts every client. Resolves to its port. */
async function oldServer(t: Test): Promise<number> {
  const info = { server_id: 'x', version: '2.10.4', proto: 1, headers: true, max_payload: 2 ** 20 }
  const server = createServer((socket) => {
    socket.write(`INFO ${JSON.stringify(info)}\r\n`)
    socket.on('data', (bytes) => bytes.includes('PING') && socket.write('PONG\r\n'))
    socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

t.test('processes that cannot start', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
  const run = (name: string, env: Record<string, string>) => {
    const child = spawn(process.execPath, [main], {
      env: {
        ...process.env,

        RINGFENCE_DATA: join(folder, name),
        ...ENV,
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    t.teardown(() => void child.kill('SIGKILL'))
    const told = { text: '' }
    child.stderr.setEncoding('utf8').on('data', (text: string) => (told.text += text))
    return { child, told, ended: once(child, 'close').then(([code]) => code as number | null) }
  }
  const without = run('a', {})
  t.equal(await without.ended, 2)
  t.match(without.told.text, /the distributed engine needs NATS servers: --nats-url/)

  const nobody = run('a', {
    RINGFENCE_NATS_URL: 'nats://a',
    RINGFENCE_NATS_CREDENTIALS: join(folder, 'absent'),
  })
  t.equal(await nobody.ended, 2)
  t.match(nobody.told.text, /natsCredentials: .*absent cannot be read/)
  const old = run('a', { RINGFENCE_NATS_URL: `nats://127.0.0.1:${await oldServer(t)}`, RINGFENCE_PORT: '0' })
  t.equal(await old.ended, 1)
  t.match(old.told.text, /^ringfence: The NATS server is of version 2\.10\.4; 2\.12\.0 or newer is needed/m)

  const nats = await natsServer(t, { stopped: true })
  const port = await freePort()
  const env = { RINGFENCE_NATS_URL: `nats://${nats.address}`, RINGFENCE_PORT: String(port) }
  const waits = run('b', env)
  const readyz = () => fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
  await until(async () => (await readyz())?.status === 503)
  const early = await fetch(`http://127.0.0.1:${port}/v1/track`, { method: 'POST' })
  t.match([early.status, early.headers.get('retry-after')], [503, '1'], 'no path is unknown yet')
  await until(() => waits.told.text.includes('cannot connect to NATS; retrying'))
  await nats.start()
  await until(async () => (await readyz())?.status === 200)

  const others = run('c', { ...env, RINGFENCE_PORT: '0', RINGFENCE_PARTITIONS: '9' })
  t.equal(await others.ended, 1)
  t.match(others.told.text, /a store of 8 partitions, the settings say 9/)
  waits.child.kill('SIGTERM')
  t.equal(await waits.ended, 0)

  const again = run('b', env)
  await until(async () => (await readyz())?.status === 200)
  await nats.kill9()
  await until(async () => (await readyz())?.status === 503)
  await nats.start()
  await until(async () => (await readyz())?.status === 200)
  again.child.kill('SIGTERM')
  const code = await again.ended
  t.equal(code, 0, code === 0 ? 'an end in the seconds after' : again.told.text)
})
