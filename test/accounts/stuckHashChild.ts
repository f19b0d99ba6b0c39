/**
 * Hashes nothing: the first byte of an answer is the policy that the kernel schedules this process by, which is 5 with
 * idle priority. `stuck PATH` is answered by no process before there is a file, which the first one makes. `end` ends
 * the process.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { HashAnswer, HashQuestion } from '../../src/accounts/hashChild.ts'

const POLICY = 40

process.on('message', ({ id, password }: HashQuestion) => {
  if (password === 'end') process.exit(1)
  const [, path] = /^stuck (.+)$/.exec(password) ?? []
  if (path !== undefined && !existsSync(path)) {
    writeFileSync(path, '')
    return
  }
  const stat = readFileSync('/proc/self/stat', 'utf8').split(' ')
  process.send!({ id, hash: Buffer.from([Number(stat[POLICY])]) } satisfies HashAnswer)
})
process.on('disconnect', () => process.exit())
