/** The process that hashes passwords: its priority, and what happens when it fails. */
import { spawnSync, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { availableParallelism } from 'node:os'
import t from 'tap'
import type { HashAnswer, HashQuestion } from '../../src/accounts/hashChild.ts'
import { HashProcess } from '../../src/accounts/hashProcess.ts'
import { PASSWORD_CHILD } from '../../workers/urls.ts'

const STUCK_CHILD = new URL('./stuckHashChild.ts', import.meta.url)
const IDLE_POLICY = 5
const skip = process.platform !== 'linux' && 'only Linux has priorities of threads'

function taskOf(password: string) {
  return { password, salt: Buffer.alloc(16), bytes: 32, cost: { n: 16, r: 8, p: 1 } }
}

t.test('the hash is that of RFC 7914', async (t) => {
  const vector = {
    password: 'password',
    salt: Buffer.from('NaCl'),
    bytes: 64,
    cost: { n: 1024, r: 8, p: 16 },
  }
  const hash = Buffer.from(await new HashProcess().derive(vector)).toString('hex')
  t.match(hash, /^fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162/)
})

t.test(
  'it only gets what nobody else wants of the processors, where that is possible',
  { skip },
  async (t) => {
    const hasCommand = spawnSync('chrt', ['-i', '0', 'true']).status === 0
    const [policy] = await new HashProcess({ child: STUCK_CHILD }).derive(taskOf('x'))
    if (hasCommand && availableParallelism() > 1) t.equal(policy, IDLE_POLICY)
    else t.type(policy, 'number')
  },
)

t.test('without that priority, it hashes as well', { skip }, async (t) => {
  for (const idleCommand of ['a-command-that-is-not-there', 'false']) {
    const hashing = new HashProcess({ idleCommand })
    const hashes = await Promise.all([hashing.derive(taskOf('x')), hashing.derive(taskOf('x'))])
    t.same(hashes[0], hashes[1], idleCommand)
    t.equal(hashes[0].length, 32)
  }
})

t.test('a hash that waits too long for a processor is made by another process', { skip }, async (t) => {
  const hashing = new HashProcess({ child: STUCK_CHILD, idleLimitMs: 300 })
  const marker = join(t.testdir({}), 'asked')
  const answers = await Promise.all([
    hashing.derive(taskOf(`stuck ${marker}`)),
    hashing.derive(taskOf(`stuck ${marker}`)),
  ])
  t.equal(answers.length, 2)
  t.ok(existsSync(marker), 'the first process had been asked')
})

t.test(
  'a process that ends refuses what it had, and the next password starts another',
  { skip },
  async (t) => {
    const hashing = new HashProcess({ child: STUCK_CHILD, idleLimitMs: 60_000 })
    await hashing.derive(taskOf('x'))
    const stuck = hashing.derive(taskOf(`stuck ${join(t.testdir({}), 'asked')}`))
    const ending = hashing.derive(taskOf('end'))
    await t.rejects(stuck, { code: 503 })
    await t.rejects(ending, { code: 503 })
    t.equal((await hashing.derive(taskOf('x'))).length, 1)
    const never = new HashProcess({ child: new URL('./there-is-no-such-file.ts', import.meta.url) })
    await t.rejects(never.derive(taskOf('x')), { code: 503 })
  },
)

t.test('the child survives signals to the process group, but not its parent', { skip }, async (t) => {
  const child = fork(PASSWORD_CHILD, { serialization: 'advanced', execArgv: [] })
  const ask = async (id: number): Promise<HashAnswer> => {
    child.send({ ...taskOf('x'), salt: randomBytes(16), id } satisfies HashQuestion)
    const [answer] = await once(child, 'message')
    return answer as HashAnswer
  }
  t.equal((await ask(1)).id, 1)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) child.kill(signal)
  await sleep(100)
  t.equal((await ask(2)).hash?.length, 32)
  const ended = once(child, 'exit')
  // As the kernel does when the parent ends.
  child.disconnect()
  t.strictSame(await ended, [0, null])
})
