/** The data of the world cannot be made: it is said, and not tried again at each question. */
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startServer } from '../kit/server.ts'
import { worldFile as expectedFile } from '../../src/geo/world/worldBuilder.ts'
import { WorldMapBuilder } from '../../src/geo/world/worldMap.ts'
import { WorldData } from '../../src/geo/world/worldData.ts'
import type { ApiError } from '../../src/runtime/errors.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { until } from '../kit/waiting.ts'
import { SimulatedTime } from '../kit/simulatedTime.ts'
import { WORLD } from '../kit/world.ts'
import { worldFile } from './kit.ts'

t.test('a file in place of its folder: 503 for a minute, then the next question tries again', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'ringfence-world-'))
  t.teardown(() => rmSync(data, { recursive: true }))
  const lines: string[] = []
  const logger = createLogger('warn', { write: (line: string) => void lines.push(line) } as never)
  const time = new SimulatedTime()
  const world = new WorldData(data, time, logger)
  t.teardown(() => world.stop())
  const blocked = join(data, 'world')
  writeFileSync(blocked, '')

  const isRefused = async (): Promise<void> => {
    const error = (await world.file().catch((reason: unknown) => reason)) as ApiError
    t.match(error.message, /^The data of the world cannot be made/)
    t.equal(error.code, 503)
  }
  await Promise.all([isRefused(), isRefused()])
  t.equal(world.condition, 'failed; the log says why')
  await isRefused()
  t.equal(lines.length, 1, 'questions at the same time and after it start no other process')

  await time.runUntil(time.now() + 59_000)
  await isRefused()
  t.equal(lines.length, 1)

  rmSync(blocked)
  worldFile()
  symlinkSync(WORLD, blocked)
  await time.runUntil(time.now() + 2000)
  const file = await world.file()
  t.equal(file, expectedFile(blocked))
  t.ok(existsSync(file))
  t.equal(world.condition, 'ready')
})

t.test('questions wait until it is made, however long that takes, but not more than 256', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'ringfence-world-'))
  t.teardown(() => rmSync(data, { recursive: true }))
  const time = new SimulatedTime()
  const world = new WorldData(data, time, createLogger('fatal'))
  let answered = 0
  const early = Array.from({ length: 256 }, () =>
    world.soon().catch((reason: unknown) => (answered++, reason)),
  )
  t.equal(world.condition, 'building')
  await time.runUntil(time.now() + 120_000)
  t.equal(answered, 0)
  t.match(await world.soon().catch((reason: unknown) => reason), {
    code: 503,
    retryAfter: 2,
    message: /^The data of the world are being made, .*readyz/,
  })
  await world.stop()
  for (const one of await Promise.all(early)) t.match(one, { code: 503, message: 'Shutting down.' })

  worldFile()
  rmSync(join(data, 'world'), { recursive: true, force: true })
  symlinkSync(WORLD, join(data, 'world'))
  const made = new WorldData(data, time, createLogger('fatal'))
  t.equal(await made.soon(), expectedFile(join(data, 'world')))
  t.equal(await made.soon(), await made.file())
})

t.test('what a killed process has left is not in the way of one with the same number', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-world-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const nothing = { feature: () => ({ features: [] }), mesh: () => ({ coordinates: [] }) }
  const empty = <Contents>() => ({ objects: { countries: {}, land: {} } }) as Contents
  // In a container, a process has the same number after each start. Nobody has called this one off.
  const killed = new WorldMapBuilder(folder, nothing, empty)
  new WorldMapBuilder(folder, nothing, empty).abandon()
  killed.abandon()
  t.strictSame(readdirSync(folder), [])
  t.end()
})

t.test('a process that hangs is ended', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'ringfence-world-'))
  t.teardown(() => rmSync(data, { recursive: true }))
  const time = new SimulatedTime()
  const world = new WorldData(data, time, createLogger('fatal'))
  const question = world.soon().catch((reason: unknown) => reason)
  await time.runUntil(time.now() + 600_000)
  t.match(await question, { code: 503, message: /^The data of the world cannot be made/ })
  t.equal(world.condition, 'failed; the log says why')
})

t.test('a server that stops meanwhile refuses the question and ends', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'ringfence-world-'))
  t.teardown(() => rmSync(data, { recursive: true }))
  const server = await startServer(t, { data })
  const question = server.api('GET', '/v1/geocode/reverse?coordinates=40.7,-74')
  const check = { name: 'world data', ok: true, detail: 'building' }
  await until(async () =>
    JSON.stringify((await server.api('GET', '/readyz')).body).includes(JSON.stringify(check)),
  )
  await server.stop()
  t.match(await question, { status: 503, body: { meta: { message: 'Shutting down.' } } })
})
