/**
 * Clients that ask a server, in a process of their own, so that it can have its own processor as devices elsewhere have. Each has
 * one connection, and asks the next question when the last one is answered; or not before it is due, with a rate.
 *
 * Usage: node bench/load/askingChild.ts PATHS KEY, as a child that gets an {@link Asking} at a time and tells what was answered.
 */
import { readFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Asking {
  readonly port: number
  /** The lines of the file of paths to ask, which are asked in turn and start over at their end. */
  readonly from: number
  readonly to: number
  readonly clients: number
  /** When to end: after these seconds, or after as many answers. */
  readonly seconds?: number
  readonly count?: number
  /** Questions a second of all clients together; without a pause if absent. */
  readonly perSecond?: number
}

/** Answers, or why there was one that is not 200. */
export interface Asked {
  readonly answers: number
  readonly error?: string
}

const [file, key] = process.argv.slice(2) as [string, string]
const paths = readFileSync(file, 'utf8').trimEnd().split('\n')
const agent = new Agent({ keepAlive: true, noDelay: true })
/** How many questions of a range were asked, by its first line. */
const cursors = new Map<number, number>()

process.on('message', (asking: Asking) => {
  void askAll(asking).then(
    (answers) => process.send!({ answers } satisfies Asked),
    (error: Error) => process.send!({ answers: 0, error: error.message } satisfies Asked),
  )
})
process.on('disconnect', () => process.exit())

async function askAll({ port, from, to, clients, ...limits }: Asking): Promise<number> {
  const { seconds = Infinity, count = Infinity, perSecond = Infinity } = limits
  const began = performance.now()
  let [asked, answers] = [0, 0]
  const client = async (): Promise<void> => {
    while (asked < count) {
      const dueMs = (asked++ / perSecond) * 1000
      const early = dueMs - (performance.now() - began)
      if (early > 0) await sleep(early)
      if (performance.now() - began >= seconds * 1000) return
      const cursor = cursors.get(from) ?? 0
      cursors.set(from, cursor + 1)
      await ask(port, paths[from + (cursor % (to - from))]!)
      answers++
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return answers
}

function ask(port: number, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: key }
    get({ host: '127.0.0.1', port, path, agent, headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => (text += chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve()
        else reject(new Error(`${path} was answered ${answer.statusCode}: ${text}`))
      })
    }).on('error', reject)
  })
}
