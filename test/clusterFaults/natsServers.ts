/** Faults of NATS servers and of the network to them. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import type { Member } from '../../cluster/member.ts'
import { EVENTS } from '../../src/cluster/journal/jetStreamStreams.ts'
import type { Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'
import { TcpProxy, type LinkState } from './tcpProxy.ts'

const THREE = { nats: 3 } as const
const LOOK_AGAIN_MS = 50
/** Longer than gateways wait. */
const NO_MAJORITY_MS = 15_000
/** How long a disk stays full after the server has noticed it. */
const FULL_MS = 8000
/** How much a server can still write, in addition to what it has when its disk is made. */
const ROOM_BYTES = 8 * 1024 * 1024

export const natsKilled: Scenario = {
  name: 'nats-killed',
  story: 'Each of three NATS servers is killed, and comes back: followers, and the leader of the events.',
  isDrawn: false,
  cluster: THREE,
  async play(stage) {
    const leader = await leaderOf(stage)
    const others = stage.cluster.nats.filter((server) => server !== leader)
    for (const server of [...others, leader]) {
      const { name } = server.options
      const what = server === leader ? `${name}, the leader of ${EVENTS}, is killed` : `${name} is killed`
      await Promise.all([
        stage.happens(what, () => server.end('SIGKILL')),
        eventsGoOn(stage, () => !server.isRunning),
      ])
      await stage.returns(server)
    }
  },
}

export const natsMajorityKilled: Scenario = {
  name: 'nats-majority',
  story: 'Two of three NATS servers are killed: nothing is acknowledged until one of them is back.',
  isDrawn: false,
  cluster: THREE,
  async play(stage) {
    const [one, other] = stage.cluster.nats
    await stage.happens('nats-1 and nats-2 are killed, and nats-1 comes back after 15 s', async () => {
      await withoutMajority(stage, [one!, other!])
      one!.start()
    })
    await one!.ready()
    await stage.returns(other!)
  },
}

export const natsSurvivorKilled: Scenario = {
  name: 'nats-survivor',
  story:
    'Two of three NATS servers are killed, and come back without the third: they have all that was acknowledged.',
  isDrawn: false,
  cluster: THREE,
  async play(stage) {
    const [one, other, survivor] = stage.cluster.nats
    await stage.happens('nats-1 and nats-2 are killed, and come back after 15 s without nats-3', async () => {
      await withoutMajority(stage, [one!, other!])
      // Something that only the survivor had would be lost now. What was acknowledged, also meanwhile, must be with one
      // of the others, and all of it is looked at in the end (G1).
      await survivor!.end('SIGKILL')
      for (const server of [one!, other!]) server.start()
    })
    for (const server of [one!, other!]) await server.ready()
    await stage.returns(survivor!)
  },
}

export const natsDiskFull: Scenario = {
  name: 'nats-disk-full',
  story:
    'The disk of one of three NATS servers is full; the others continue, and so does it when there is room again.',
  isDrawn: false,
  cluster: THREE,
  play: (stage) =>
    withSmallDisk(stage, async (server, disk) => {
      const { name } = server.options
      await stage.happens(`the disk of ${name} is full`, () => fill(stage, server, disk))
      await stage.happens(`it is for a while`, () => sleep(FULL_MS))
      await stage.happens('there is room again', () => empty(stage, server, disk))
    }),
}

export const natsOnlyDiskFull: Scenario = {
  name: 'nats-only-disk-full',
  story: 'The disk of the only NATS server is full: nothing that was acknowledged is lost.',
  isDrawn: false,
  play: (stage) =>
    withSmallDisk(stage, async (server, disk) => {
      const { counts } = stage.load
      await stage.happens('the disk is full, and there is room again after 12 s', async () => {
        await fill(stage, server, disk)
        const before = { ...counts }
        // Longer than gateways wait.
        await sleep(12_000)
        stage.say(`${counts.updates - before.updates} updates were acknowledged meanwhile`)
        if (counts.refused === before.refused) stage.fault('G7 nobody was refused, although there is no room')
        await empty(stage, server, disk)
      })
    }),
}

export const natsQuota: Scenario = {
  name: 'nats-quota',
  story: 'The only NATS server reaches its quota: nothing is acknowledged until it may store more again.',
  isDrawn: false,
  async play(stage) {
    const [server] = stage.cluster.nats
    const { counts } = stage.load
    const manager = await jetstreamManager(stage.streams.connection)
    const { storage } = await manager.getAccountInfo()
    await stage.happens('the server may store 256 KB more', () =>
      restartWith(stage, server!, storage + 256 * 1024),
    )
    const before = counts.refused
    for (const until = performance.now() + 60_000; counts.refused < before + 100; await sleep(LOOK_AGAIN_MS))
      if (performance.now() > until) return stage.fault('G7 nobody was refused, although nothing can be kept')
    await stage.happens('the server may store what it likes', () => restartWith(stage, server!, undefined))
  },
}

export const natsCut: Scenario = {
  name: 'nats-cut',
  story: 'The connection from a host to NATS is cut, then silent, half open, and slow.',
  isDrawn: false,
  async play(stage) {
    const [owner] = stage.actors
    const proxy = await TcpProxy.open(stage.cluster.nats[0]!.options.url)
    try {
      await stage.ends(owner!)
      await stage.returns(owner!, { RINGFENCE_NATS_URL: proxy.url })
      await stage.settled()
      const states: readonly LinkState[] = [
        { kind: 'cut' },
        { kind: 'silent' },
        { kind: 'halfOpen' },
        { kind: 'late', milliseconds: 300 },
      ]
      for (const state of states) {
        await stage.happens(`the way from actors-1 to NATS is ${state.kind}`, async () => {
          proxy.state = state
          // Longer than hosts wait for each other.
          await sleep(6000)
        })
        await stage.happens('the way is open', () => (proxy.state = { kind: 'open' }))
        await stage.settled()
      }
      await stage.ends(owner!)
      await stage.returns(owner!)
    } finally {
      await proxy.close()
    }
  },
}

/**
 * Kills two of three servers, and judges the 15 s that follow: nothing that is first sent now may be acknowledged, since
 * one server is no majority.
 *
 * What was sent before may be, however late. Its frame may have reached a majority just before, while its answer was
 * lost with the connection to a server that was killed. The owner then connects to the third server, finds its own
 * frame at the end of the log, and answers; the gateway may not have been connected again at that moment, and asks once
 * more after a second. Such an answer comes a second after the kill, and is honest: the frame is on the disks of two
 * servers. {@link natsSurvivorKilled} looks there.
 */
async function withoutMajority(stage: Stage, servers: readonly Member[]): Promise<void> {
  const { load } = stage
  await Promise.all(servers.map((server) => server.end('SIGKILL')))
  const killed = performance.now()
  const before = { ...load.counts }
  await sleep(NO_MAJORITY_MS)
  const updates = load.counts.updates - before.updates
  if (updates > 0) stage.say(`${updates} updates that had been sent before were acknowledged meanwhile`)
  if (load.newestFirstSent > killed)
    stage.fault(
      `G1 an update that was sent ${Math.round(load.newestFirstSent - killed)} ms after the majority of the NATS servers ` +
        'was killed was acknowledged by the rest of them',
    )
  if (load.counts.refused === before.refused)
    stage.fault('G7 nobody was refused, although nothing can be kept')
}

/** The server that leads the stream of events. */
async function leaderOf(stage: Stage): Promise<Member> {
  const manager = await jetstreamManager(stage.streams.connection)
  const { cluster } = await manager.streams.info(EVENTS)
  return stage.cluster.nats.find(({ options }) => options.name === cluster?.leader)!
}

/** Reports how long no event was added to the stream after the fault. */
async function eventsGoOn(stage: Stage, hasHappened: () => boolean): Promise<void> {
  for (; !hasHappened(); await sleep(LOOK_AGAIN_MS));
  const began = performance.now()
  const count = () => stage.streams.eventCount().catch(() => undefined)
  let before: number | undefined
  for (let now = await count(); ; now = await count()) {
    if (before !== undefined && now !== undefined && now > before) break
    before ??= now
    await sleep(LOOK_AGAIN_MS)
  }
  stage.say(`events come into ${EVENTS} ${((performance.now() - began) / 1000).toFixed(1)} s later`)
}

/** Ends a server and starts it with another storage limit. */
async function restartWith(stage: Stage, server: Member, maxBytes: number | undefined): Promise<void> {
  await server.end('SIGINT')
  const file = server.options.args.at(-1)!
  const text = readFileSync(file, 'utf8').replace(/, max_file_store: \d+/, '')
  const bound = maxBytes === undefined ? '' : `, max_file_store: ${maxBytes}`
  writeFileSync(file, text.replace('sync_interval: always', `sync_interval: always${bound}`))
  await stage.returns(server)
}

/** Runs the scenario with the server that leads the events on a disk that is easily filled. */
async function withSmallDisk(
  stage: Stage,
  work: (server: Member, disk: SmallDisk) => Promise<unknown>,
): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return stage.say('SKIPPED: to make a file system needs Linux and root')
  const server = await leaderOf(stage)
  const disk = await SmallDisk.under(server)
  try {
    await work(server, disk)
  } finally {
    await server.end('SIGKILL')
    disk.remove()
  }
  await stage.returns(server)
}

/** Fills the disk, and resolves once the server has noticed. */
async function fill(stage: Stage, server: Member, disk: SmallDisk): Promise<void> {
  const from = server.output.length
  disk.fill()
  const noticed = () => /\[(?:ERR|WRN|FTL)\] .*no space left/.exec(server.output.slice(from))?.[0]
  while (noticed() === undefined) await sleep(LOOK_AGAIN_MS)
  stage.say(`${server.options.name}: ${noticed()!.replaceAll(/\S*\/(?=jetstream)/g, '')}`)
}

/** A server that ran out of room serves its streams again only after a restart. */
async function empty(stage: Stage, server: Member, disk: SmallDisk): Promise<void> {
  disk.empty()
  await server.end('SIGKILL')
  await stage.returns(server)
}

/** A separate small file system for the data of a NATS server. */
class SmallDisk {
  readonly #folder: string
  readonly #ballast: string

  private constructor(folder: string) {
    this.#folder = folder
    this.#ballast = join(folder, 'ballast')
  }

  /** Ends the server, copies its data to the disk, and starts it there. */
  static async under(server: Member): Promise<SmallDisk> {
    const folder = join(dirname(server.options.logFile), server.options.name)
    await server.end('SIGINT')
    const kept = `${folder}-kept`
    cpSync(folder, kept, { recursive: true })
    const bytes = Number(execFileSync('du', ['-sb', kept]).toString().split('\t')[0])
    rmSync(folder, { recursive: true })
    mkdirSync(folder)
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes + 4 * ROOM_BYTES}`, 'tmpfs', folder])
    cpSync(kept, folder, { recursive: true })
    rmSync(kept, { recursive: true })
    server.start()
    await server.ready()
    return new SmallDisk(folder)
  }

  fill(): void {
    try {
      writeFileSync(this.#ballast, Buffer.alloc(1024 * 1024 * 1024))
    } catch {
      // The disk is full.
    }
  }

  empty(): void {
    rmSync(this.#ballast, { force: true })
  }

  /** Puts the data back in its old place. No process may use it at that time. */
  remove(): void {
    const kept = `${this.#folder}-kept`
    cpSync(this.#folder, kept, { recursive: true })
    execFileSync('umount', [this.#folder])
    cpSync(kept, this.#folder, { recursive: true })
    rmSync(kept, { recursive: true })
  }
}
