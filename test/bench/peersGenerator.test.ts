/** The generator of the peers bench against servers that record what they received and reported. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { UpdateSequence } from '../../bench/load/updateSequence.ts'
import { startLineChild } from '../../bench/load/lineChild.ts'
import type { Peer } from '../../bench/load/peerConnections.ts'
import type { PeerCommand, PeerResult } from '../../bench/load/peersGenerator.ts'
import { command, ReplyReader, type Reply } from '../../bench/load/resp.ts'
import { RecordFile } from '../../bench/load/workload.ts'

const DEVICES = 12
const ROUNDS = 3
const CONNECTIONS = 4
/** For each connection: three devices complete two rounds and a part of the third. */
const PER_CONNECTION = 8

/** A device, and the latitude of a move, which identifies the round. */
type Move = readonly [device: string, latitude: number]

/** The order in which devices move differs from round to round. */
async function startGenerator(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'updates')
  const file = new RecordFile(path)
  for (let round = 0; round < ROUNDS; round++)
    for (let i = 0; i < DEVICES; i++) {
      const deviceId = `d${(i * 5 + round) % DEVICES}`
      file.add(JSON.stringify({ deviceId, latitude: round, longitude: 7, accuracy: 5 }))
    }
  file.close()
  const args = ['--updates', path, '--rounds', String(ROUNDS), '--devices', String(DEVICES)]
  const child = await startLineChild<PeerCommand>('peersGenerator.ts', args)
  t.teardown(() => child.stop())
  return {
    open: (peer: Peer, port: number) =>
      child.ask({ do: 'open', session: 1, peer, port, key: 'k', connections: CONNECTIONS }),
    run: (batch: number, rate: number) =>
      child.ask<PeerResult>({ do: 'run', session: 1, rate, batch, updatesPerConnection: PER_CONNECTION }),
  }
}

/** Answers in pieces that end at any byte. In odd rounds a device is inside two geofences. */
async function startTile38(t: Test) {
  const connections: Move[][] = []
  const listeners: Socket[] = []
  const places = new Map<string, boolean>()
  const server = createServer((socket) => {
    const moves: Move[] = []
    const reader = new ReplyReader()
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('data', (data) =>
      reader.receive(data, (reply) => {
        const words = reply as readonly string[]
        if (words[0] === 'PSUBSCRIBE') {
          listeners.push(socket)
          socket.write(command('psubscribe', '*', '1'))
        } else if (words[0] === 'SET') {
          if (moves.length === 0) connections.push(moves)
          moves.push([words[2]!, Number(words[4])])
          tell(words[2]!, Number(words[4]) === 1)
          inPieces(socket, '+OK\r\n')
        } else {
          const { coordinates } = JSON.parse(words.at(-1)!) as { coordinates: [number, number] }
          inPieces(socket, `*2\r\n:0\r\n${coordinates[1] === 1 ? command('a', 'b') : command()}`)
        }
      }),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const tell = (device: string, isInside: boolean) => {
    if ((places.get(device) ?? false) === isInside) return
    places.set(device, isInside)
    const detect = isInside ? 'enter' : 'exit'
    for (const hook of ['a', 'b'])
      for (const listener of listeners)
        inPieces(listener, command('pmessage', '*', hook, `{"detect":"${detect}","hook":"${hook}"}`))
  }
  return { port: (server.address() as AddressInfo).port, connections }
}

function inPieces(socket: Socket, text: string): void {
  socket.write(text.slice(0, 3))
  socket.write(text.slice(3))
}

async function startRingfence(t: Test) {
  const connections: Move[][] = []
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  t.teardown(() => server.close())
  server.on('connection', (socket) => {
    const moves: Move[] = []
    let timer: NodeJS.Timeout | undefined
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as {
        type: string
        id: number
        updates: { deviceId: string; latitude: number }[]
      }
      if (message.type === 'subscribe') {
        socket.send('{"type":"subscribed","id":"visits"}')
        for (const type of ['entered', 'entered', 'exited'])
          socket.send(JSON.stringify({ type: 'event', event: { type: `user.${type}_geofence` } }))
        return
      }
      if (moves.length === 0) connections.push(moves)
      for (const { deviceId, latitude } of message.updates) moves.push([deviceId, latitude])
      // One acknowledgement for all frames that came together.
      clearTimeout(timer)
      timer = setTimeout(() => socket.send(JSON.stringify({ type: 'ack', id: message.id })), 1)
    })
  })
  return { port: (server.address() as AddressInfo).port, connections }
}

/** Each connection has its own devices, and goes through the rounds forwards and back. */
function checkMoves(t: Test, connections: readonly (readonly Move[])[], runs: number): void {
  t.equal(connections.length, CONNECTIONS)
  t.equal(new Set(connections.flatMap((moves) => moves.map(([device]) => device))).size, DEVICES)
  for (const moves of connections) {
    t.equal(moves.length, PER_CONNECTION * runs)
    const devices = new Set(moves.map(([device]) => device))
    t.equal(devices.size, DEVICES / CONNECTIONS)
    for (const device of devices) {
      const latitudes = moves.filter(([name]) => name === device).map(([, latitude]) => latitude)
      t.strictSame(latitudes, [0, 1, 2, 1, 0, 1, 2, 1, 0].slice(0, latitudes.length))
    }
  }
}

for (const peer of ['channels', 'search'] as const) {
  t.test(`Tile38, ${peer}: moves in order, visits counted`, async (t) => {
    const server = await startTile38(t)
    const { open, run } = await startGenerator(t)
    await open(peer, server.port)
    const first = await run(5, 0)
    t.equal(first.updates, PER_CONNECTION * CONNECTIONS)
    const { visits } = await run(2, 1000)
    checkMoves(t, server.connections, 2)
    const moves = server.connections.flat()
    const ones = moves.filter(([, latitude]) => latitude === 1).length
    const isLeft = new Map(moves)
    const stayed = [...isLeft.values()].filter((latitude) => latitude === 1).length
    t.strictSame(visits, { entered: 2 * ones, exited: 2 * (ones - stayed) })
  })
}

t.test('Ringfence: moves in order, events counted', async (t) => {
  const server = await startRingfence(t)
  const { open, run } = await startGenerator(t)
  await open('ringfence', server.port)
  await run(3, 0)
  const { visits } = await run(2, 1000)
  checkMoves(t, server.connections, 2)
  t.strictSame(visits, { entered: 2, exited: 1 })
})

t.test('replies in pieces that end anywhere', async (t) => {
  const expected: Reply[] = ['OK', 7, 'zwölf', null, [0, ['a', 'b']], []]
  const bytes = Buffer.from(
    '+OK\r\n:7\r\n$6\r\nzwölf\r\n$-1\r\n*2\r\n:0\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n*0\r\n',
  )
  for (let size = 1; size <= bytes.length; size++) {
    const reader = new ReplyReader()
    const replies: Reply[] = []
    for (let at = 0; at < bytes.length; at += size)
      reader.receive(bytes.subarray(at, at + size), (reply) => replies.push(reply))
    t.strictSame(replies, expected, `pieces of ${size}`)
  }
})

t.test('a batch ends with its round', async (t) => {
  const round = (letters: string) => [...letters].map((text, device) => ({ text, device }))
  const sequence = new UpdateSequence([round('abc'), round('def')], ',')
  const texts = Array.from({ length: 5 }, () => sequence.take(2).bytes.toString())
  t.strictSame(texts, ['a,b', 'c', 'd,e', 'f', 'a,b'])
})
