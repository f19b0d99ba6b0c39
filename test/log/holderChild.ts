/**
 * Takes the data folder that its argument names, prints `held` or the reason why it cannot, and keeps the folder
 * until it is killed.
 */
import { writeSync } from 'node:fs'
import { openStore } from '../../src/log/store.ts'

try {
  openStore(process.argv[2]!, { partitions: 4 })
  writeSync(1, 'held\n')
  setInterval(() => {}, 1_000_000)
} catch (error) {
  writeSync(1, `${String(error)}\n`)
}
