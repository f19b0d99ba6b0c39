import { parentPort, workerData } from 'node:worker_threads'
import { readLists } from '../src/geo/ip/listFile.ts'
import { readNetworks } from '../src/geo/ip/networkFiles.ts'
import type { RangesTask } from '../src/geo/ip/rangesThread.ts'

const task = workerData as RangesTask
const ranges = task.kind === 'lists' ? readLists(task.files) : readNetworks(task)
parentPort!.postMessage(ranges, [ranges.four.buffer, ranges.six.buffer])
