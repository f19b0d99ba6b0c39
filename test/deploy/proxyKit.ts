/** Starts the proxies of deploy/proxy with their configurations, for tests. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import type { Test } from 'tap'
import { makeCertificates } from '../kit/certificates.ts'
import { freePort } from '../kit/freePort.ts'
import { skipWithoutTool, text as fileText } from './tools.ts'

const folder = mkdtempSync(join(tmpdir(), 'ringfence-proxies-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

export interface Proxy {
  readonly name: string
  /**
   * The configuration from the repository, with the test's ports and files.
   * @param upstreams ports of the servers
   */
  configure(certificate: string, key: string, port: number, upstreams: readonly number[]): string
  readonly args: (file: string) => readonly string[]
}

/** @throws Error if the configuration does not contain the text */
function replaced(config: string, changes: readonly (readonly [from: string, to: string])[]): string {
  let changed = config
  for (const [from, to] of changes) {
    if (!changed.includes(from)) throw new Error(`no ${from} in the configuration`)
    changed = changed.replaceAll(from, to)
  }
  return changed
}

/** What haproxy.cfg has as comments, for a second gateway. */
const severalGateways = (second: number) =>
  [
    ['#option redispatch', 'option redispatch'],
    ['#option httpchk', 'option httpchk'],
    ['#http-check', 'http-check'],
    ['#default-server', 'default-server'],
    ['#server ringfence-2 127.0.0.1:8081', `server ringfence-2 127.0.0.1:${second}`],
  ] as const

const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  .map((what) => `${what}_temp_path ${folder}/${what};`)
  .join(' ')

export const PROXIES: readonly Proxy[] = [
  {
    name: 'nginx',
    configure: (certificate, key, port, upstreams) =>
      replaced(fileText('deploy/proxy/nginx.conf'), [
        ['/etc/ssl/certs/ringfence.pem', certificate],
        ['/etc/ssl/private/ringfence.key', key],
        ['listen 443 ', `listen 127.0.0.1:${port} `],
        ['#server 127.0.0.1:8081;', ''],
        ['server 127.0.0.1:8080;', upstreams.map((upstream) => `server 127.0.0.1:${upstream};`).join(' ')],
        ['http {', `http { access_log off; ${temporary}`],
      ]),
    args: (file) => [
      '-p',
      folder,
      '-c',
      file,
      '-e',
      'stderr',
      '-g',
      `daemon off; pid ${file}.pid; error_log stderr; ${process.getuid?.() === 0 ? 'user root;' : ''}`,
    ],
  },
  {
    name: 'haproxy',
    configure: (certificate, key, port, upstreams) => {
      const both = join(folder, 'both.pem')
      writeFileSync(both, readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8'))
      return replaced(fileText('deploy/proxy/haproxy.cfg'), [
        ['/etc/ssl/private/ringfence.pem', both],
        ['bind :443 ', `bind 127.0.0.1:${port} `],
        ['127.0.0.1:8080', `127.0.0.1:${upstreams[0]}`],
        ...(upstreams.length === 1 ? [] : severalGateways(upstreams[1]!)),
        ['maxconn 20000', 'maxconn 200'],
      ])
    },
    args: (file) => ['-db', '-f', file],
  },
]

/** Starts a proxy in front of the ports. Resolves to the proxy's port once it listens. */
export async function startProxy(t: Test, proxy: Proxy, upstreams: readonly number[]): Promise<number> {
  const { certificate, key } = await makeCertificates(folder)
  const port = await freePort()
  const file = join(folder, `${proxy.name}-${port}`)
  writeFileSync(file, proxy.configure(certificate, key, port, upstreams))
  const child = spawn(proxy.name, proxy.args(file), { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => (output += piece))
  t.teardown(async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
  })
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${proxy.name} ended\n${output}`)
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    const listens = await new Promise<boolean>((resolve) => {
      socket.once('secureConnect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
    socket.destroy()
    if (listens) return port
    await sleep(20)
  }
}

/** False if the proxy is there; otherwise the reason to skip a test. With RINGFENCE_REQUIRE_PROXIES=1 it is never skipped. */
export function skipWithoutProxy({ name }: Proxy): string | false {
  const missing = skipWithoutTool(name)
  return process.env.RINGFENCE_REQUIRE_PROXIES === '1' ? false : missing
}
