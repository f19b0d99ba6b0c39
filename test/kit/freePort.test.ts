/** Ports for servers of tests: two processes at the same time never get the same. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { freePort } from './freePort.ts'

const KIT = new URL('freePort.ts', import.meta.url)
/** So few that the processes would meet. */
const COUNT = 8

t.test('four processes share eight ports without meeting', async (t) => {
  const first = await freePort(12_000, 7_000)
  const take = `import { freePort } from '${KIT}'
    const ports = [await freePort(${first}, ${COUNT}), await freePort(${first}, ${COUNT})]
    console.log(JSON.stringify(ports))
    setInterval(() => {}, 1000)`
  const taken = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const child = spawn(process.execPath, ['--input-type=module', '--eval', take], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      t.teardown(() => child.kill())
      const [text] = (await once(child.stdout, 'data')) as [Buffer]
      return JSON.parse(text.toString()) as number[]
    }),
  )
  // This process has the first already.
  const all = [first, await freePort(first, COUNT), ...taken.flat()]
  t.equal(new Set(all).size, COUNT, all.join(' '))
})
