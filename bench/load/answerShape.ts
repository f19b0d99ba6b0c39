import { request } from 'node:http'
import type { Agent } from 'node:http'

/** The form of an answer on the wire, which the bare handler also sends. */
export interface AnswerShape {
  /** In the order of sending, without those that uWebSockets.js writes itself. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Mean over the sample. */
  readonly bodyBytes: number
  /** Mean number of events over the sample. */
  readonly eventsPerUpdate: number
}

/** Written by uWebSockets.js or node:http itself. */
const TRANSPORT_HEADERS = new Set([
  'date',
  'uwebsockets',
  'content-length',
  'connection',
  'transfer-encoding',
  'keep-alive',
])

/** Sends the bodies one after another to POST /v1/track and examines the answers. Throws if one is not a 200. */
export async function sampleAnswers(
  port: number,
  publishableKey: string,
  bodies: readonly string[],
  agent: Agent,
): Promise<AnswerShape> {
  let headers: [string, string][] = []
  let bytes = 0
  let events = 0
  for (const body of bodies) {
    const answer = await post(port, publishableKey, body, agent)
    const json = JSON.parse(answer.body) as { events?: unknown[] }
    headers = answer.headers
    bytes += Buffer.byteLength(answer.body)
    events += json.events?.length ?? 0
  }
  return {
    headers: headers.filter(([name]) => !TRANSPORT_HEADERS.has(name.toLowerCase())),
    bodyBytes: Math.round(bytes / bodies.length),
    eventsPerUpdate: events / bodies.length,
  }
}

function post(
  port: number,
  key: string,
  body: string,
  agent: Agent,
): Promise<{ headers: [string, string][]; body: string }> {
  return new Promise((resolve, reject) => {
    const req = request(
      {
        host: '127.0.0.1',
        port,
        path: '/v1/track',
        method: 'POST',
        agent,
        headers: {
          Authorization: key,
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(body),
        },
      },
      (res) => {
        let text = ''
        res.setEncoding('utf8')
        res.on('data', (chunk: string) => {
          text += chunk
        })
        res.on('end', () => {
          if (res.statusCode !== 200) reject(new Error(`POST /v1/track answered ${res.statusCode}: ${text}`))
          else resolve({ headers: pairs(res.rawHeaders), body: text })
        })
        res.on('error', reject)
      },
    )
    req.on('error', reject)
    req.end(body)
  })
}

function pairs(raw: readonly string[]): [string, string][] {
  const result: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) result.push([raw[i]!, raw[i + 1]!])
  return result
}
