/**
 * The same moves for Ringfence and for Tile38: connections that send batches of them, and connections that report
 * when visits begin and end.
 */
import { connect, type Socket } from 'node:net'
import type { Batch, EncodedUpdate } from './updateSequence.ts'
import { command, ReplyReader, type Reply } from './resp.ts'
import { frameHead, MessageReader, TEXT, textFrame, upgradeRequest } from './webSocket.ts'

/**
 * - `ringfence`: frames of updates over a stream, acknowledged once they are on the disk; events come to a
 *   subscription.
 * - `channels`: one SET per move in a pipeline; each geofence is a channel, whose messages come to a subscription.
 * - `search`: one SET and one INTERSECTS per move; geofences are objects, and the client finds visits by comparing
 *   with what it found before.
 */
export const PEERS = ['ringfence', 'channels', 'search'] as const
export type Peer = (typeof PEERS)[number]

/** The name of the collection of moving objects in Tile38. */
export const MOVING_KEY = 'fleet'
export const GEOFENCES_KEY = 'geofences'

/** Visits that began and ended, as reported to the client. */
export interface Visits {
  entered: number
  exited: number
}

/** Receives what comes over a connection. */
export interface PeerOwner {
  readonly visits: Visits
  /** Called when the oldest batch is answered. */
  answered(): void
  problem(text: string): void
}

/** A connection that sends updates. */
export interface PeerConnection {
  readonly socket: Socket
  send(batch: Batch): void
}

/** An update as it is in the workload's file. */
export interface WorkloadUpdate {
  readonly deviceId: string
  readonly latitude: number
  readonly longitude: number
}

/** @returns how an update is sent, and the separator between two */
export function peerEncoding(peer: Peer): { encode(update: WorkloadUpdate): string; separator: string } {
  switch (peer) {
    case 'ringfence':
      return { encode: (update) => JSON.stringify(update), separator: ',' }
    case 'channels':
      return { encode: setPoint, separator: '' }
    case 'search':
      return { encode: (update) => setPoint(update) + intersects(update), separator: '' }
  }
}

function setPoint({ deviceId, latitude, longitude }: WorkloadUpdate): string {
  return command('SET', MOVING_KEY, deviceId, 'POINT', String(latitude), String(longitude))
}

/** Asks with a limit of its own, because by default at most a hundred results are returned. */
function intersects({ latitude, longitude }: WorkloadUpdate): string {
  const place = JSON.stringify({ type: 'Point', coordinates: [longitude, latitude] })
  return command('INTERSECTS', GEOFENCES_KEY, 'LIMIT', '1000000', 'IDS', 'OBJECT', place)
}

/** Resolves once updates may be sent. */
export function openPeer(peer: Peer, port: number, key: string, owner: PeerOwner): Promise<PeerConnection> {
  return peer === 'ringfence' ? openStream(port, key, owner) : openPipelines(peer, port, owner)
}

/** Resolves once nothing that is sent from now on is missed. For `search` there is no subscription. */
export async function openVisits(
  peer: Peer,
  port: number,
  key: string,
  owner: PeerOwner,
): Promise<Socket | undefined> {
  if (peer === 'ringfence') return followEvents(port, key, owner)
  return peer === 'channels' ? followChannels(port, owner) : undefined
}

function open(port: number, owner: PeerOwner): Socket {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.on('error', (error) => owner.problem(error.message))
  socket.on('close', () => owner.problem('a connection was closed'))
  return socket
}

function openStream(port: number, key: string, owner: PeerOwner): Promise<PeerConnection> {
  const socket = open(port, owner)
  let sent = 0
  let acknowledged = 0
  const send = ({ bytes }: Batch) => {
    const before = Buffer.from(`{"type":"track","id":${++sent},"updates":[`)
    const length = before.length + bytes.length + AFTER.length
    socket.write(Buffer.concat([frameHead(TEXT, length), before, bytes, AFTER]))
  }
  const message = (payload: Buffer) => {
    const match = /^\{"type":"ack","id":(\d+)[,}]/.exec(payload.toString('latin1', 0, 48))
    if (match === null) return owner.problem(payload.toString('latin1'))
    for (const id = Number(match[1]); acknowledged < id; acknowledged++) owner.answered()
  }
  return new Promise((resolve, reject) => {
    const reader = new MessageReader(socket, {
      opened: () => resolve({ socket, send }),
      refused: (head) => reject(new Error(head)),
      message,
      closed: (reason) => owner.problem(reason),
    })
    socket.on('data', (data) => reader.receive(data))
    socket.write(upgradeRequest(key, 'json'))
  })
}

const AFTER = Buffer.from(']}')

function followEvents(port: number, key: string, owner: PeerOwner): Promise<Socket> {
  const socket = open(port, owner)
  return new Promise((resolve, reject) => {
    const reader = new MessageReader(socket, {
      opened: () => socket.write(textFrame(JSON.stringify({ type: 'subscribe', id: 'visits' }))),
      refused: (head) => reject(new Error(head)),
      message(payload) {
        const text = payload.toString('latin1')
        if (text.startsWith('{"type":"subscribed"')) resolve(socket)
        else if (text.includes('"type":"user.entered_geofence"')) owner.visits.entered++
        else if (text.includes('"type":"user.exited_geofence"')) owner.visits.exited++
        else owner.problem(text)
      },
      closed: (reason) => owner.problem(reason),
    })
    socket.on('data', (data) => reader.receive(data))
    socket.write(upgradeRequest(key, 'json'))
  })
}

function followChannels(port: number, owner: PeerOwner): Promise<Socket> {
  const socket = open(port, owner)
  const reader = new ReplyReader()
  return new Promise((resolve) => {
    socket.on('data', (data) =>
      reader.receive(data, (reply) => {
        const [kind, , , text] = reply as readonly string[]
        if (kind === 'psubscribe') resolve(socket)
        else if (text?.includes('"detect":"enter"')) owner.visits.entered++
        else if (text?.includes('"detect":"exit"')) owner.visits.exited++
        else owner.problem(String(reply))
      }),
    )
    socket.write(command('PSUBSCRIBE', '*'))
  })
}

async function openPipelines(peer: Peer, port: number, owner: PeerOwner): Promise<PeerConnection> {
  const socket = open(port, owner)
  const reader = new ReplyReader()
  const repliesPerUpdate = peer === 'search' ? 2 : 1
  const pending: Batch[] = []
  /** How many replies to the oldest batch have arrived. */
  let replies = 0
  /** For each device of the sequence, the geofences that it was in after its last move. */
  const inside: (readonly string[])[] = []
  const take = (reply: Reply) => {
    if (reply instanceof Error) owner.problem(reply.message)
    const { devices } = pending[0]!
    if (Array.isArray(reply)) {
      const device = devices[(replies - 1) / 2]!
      inside[device] = compare(inside[device] ?? NOWHERE, reply[1] as readonly string[], owner.visits)
    }
    if (++replies < devices.length * repliesPerUpdate) return
    replies = 0
    pending.shift()
    owner.answered()
  }
  socket.on('data', (data) => reader.receive(data, take))
  await new Promise((resolve) => socket.once('connect', resolve))
  return {
    socket,
    send(batch) {
      pending.push(batch)
      socket.write(batch.bytes)
    },
  }
}

const NOWHERE: readonly string[] = []

function compare(was: readonly string[], is: readonly string[], visits: Visits): readonly string[] {
  for (const id of is) if (!was.includes(id)) visits.entered++
  for (const id of was) if (!is.includes(id)) visits.exited++
  return is
}

/** The updates of a round, for that many connections. A device is always in the same one. */
export function sequencesOf(
  updates: readonly WorkloadUpdate[],
  numbers: ReadonlyMap<string, number>,
  connections: number,
  encode: (update: WorkloadUpdate) => string,
): EncodedUpdate[][] {
  const result: EncodedUpdate[][] = Array.from({ length: connections }, () => [])
  for (const update of updates) {
    const number = numbers.get(update.deviceId)!
    result[number % connections]!.push({ device: Math.floor(number / connections), text: encode(update) })
  }
  return result
}
