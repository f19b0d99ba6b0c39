/** The road engines of servers: processes of their own, whose CPU counts apart. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Offer } from './contest.ts'
import { HttpContender } from './httpContender.ts'
import { processorPins } from './load.ts'
import type { ServerProcess } from './servers.ts'

const execFileAsync = promisify(execFile)
/** Clock ticks per second of /proc/<pid>/stat. */
const TICKS_PER_SECOND = 100

/** The CPU time of the road engines so far, in seconds. */
export function engineSeconds(servers: readonly ServerProcess[]): number {
  let ticks = 0
  for (const pid of servers.flatMap(enginesOf)) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    ticks += Number(fields[11]) + Number(fields[12])
  }
  return ticks / TICKS_PER_SECOND
}

/** Where the road engine of a server runs. */
export type EnginePlace = 'server' | 'generator'

/** A server whose road engine runs on a processor of its own, or on that of the server, during its windows. */
export class PlacedContender extends HttpContender {
  readonly #place: EnginePlace

  constructor(place: EnginePlace, ...rest: ConstructorParameters<typeof HttpContender>) {
    super(...rest)
    this.#place = place
  }

  override async offer(load: Offer) {
    await moveEngine(this.server, this.#place)
    return super.offer(load)
  }
}

/** Moves a server's road engine, if it runs and processes can be bound to processors. */
async function moveEngine(server: ServerProcess, place: EnginePlace): Promise<void> {
  const [command, , processors] = (await processorPins())[place]
  if (command === undefined || processors === undefined) return
  for (const pid of enginesOf(server)) await execFileAsync(command, ['-acp', processors, pid])
}

/** The process ids of a server's children. It has no others. */
function enginesOf({ pid }: ServerProcess): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
      .split(' ')
      .filter((child) => child.trim() !== ''),
  )
}
