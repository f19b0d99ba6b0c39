/**
 * Loaded before a server, so that its threads remember the replies to the first questions that they are asked. When such a
 * question is asked again, the thread gives the same reply after as long as its search took, and does nothing meanwhile. So
 * everything that the server does for a search happens, at the usual times, but for the search itself.
 */
import { GeocoderThread, type GeocoderReply } from '../../src/geo/geocoding/geocoderThread.ts'

/** How many questions each thread remembers. */
const REMEMBERED = Number(process.env['BENCH_REMEMBERED_SEARCHES'])

interface Remembered {
  readonly reply: GeocoderReply
  readonly tookMs: number
}

const remembered = new Map<string, Remembered>()
const still = new Int32Array(new SharedArrayBuffer(4))
const search = GeocoderThread.prototype.reply

GeocoderThread.prototype.reply = function (this: GeocoderThread, task) {
  // The time would make each question a new one.
  const key = task.question.replace(/"now":[\d.]+/, '')
  const known = remembered.get(key)
  if (known !== undefined) {
    Atomics.wait(still, 0, 0, known.tookMs)
    return known.reply
  }
  if (remembered.size >= REMEMBERED) return search.call(this, task)
  // The first search of a question reads from the disk, so the second one is timed.
  search.call(this, task)
  const began = performance.now()
  const reply = search.call(this, task)
  remembered.set(key, { reply, tookMs: performance.now() - began })
  return reply
}
