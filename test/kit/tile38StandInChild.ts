/**
 * A stand-in for tile38-server, for machines where the real one cannot be installed. It is a process that speaks its
 * protocol and executes the few commands that this program sends, as Tile38's documentation and source describe them.
 * It is slow and obvious, keeps its data in an append-only file, and proves nothing about Tile38 itself.
 *
 * node tile38StandInChild.ts PORT FOLDER [PASSWORD]
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'

type Thing =
  | {
      readonly kind: 'point'
      readonly latitude: number
      readonly longitude: number
      readonly fields: ReadonlyMap<string, string>
    }
  | {
      readonly kind: 'bounds'
      readonly south: number
      readonly west: number
      readonly north: number
      readonly east: number
    }
  | { readonly kind: 'string'; readonly text: string }
type Box = Extract<Thing, { kind: 'bounds' }>
interface Fence {
  readonly key: string
  readonly box: Box
  readonly detect: ReadonlySet<string>
  readonly until: number
  readonly words: string
}
type Reply = string | number | null | Error | readonly Reply[]
interface Client {
  readonly socket: Socket
  isAllowed: boolean
  isListening: boolean
}

const [port, folder, password = ''] = process.argv.slice(2) as [string, string, string?]
const file = join(folder, 'appendonly.aof')
const collections = new Map<string, Map<string, Thing>>()
const channels = new Map<string, Fence>()
const listeners = new Map<string, Set<Client>>()
const expirations = new Map<string, { readonly key: string; readonly id: string; readonly at: number }>()

let isReadOnly = false

mkdirSync(folder, { recursive: true })
if (existsSync(file)) {
  for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) execute(JSON.parse(line))
}

createServer((socket) => {
  const client: Client = { socket, isAllowed: password === '', isListening: false }
  let text = ''
  socket.setEncoding('latin1')
  socket.on('error', () => {})
  socket.on('close', () => {
    for (const set of listeners.values()) set.delete(client)
  })
  socket.on('data', (part: string) => {
    if (part.startsWith('GET /')) return void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    text += part
    let out = ''
    for (;;) {
      const read = readCommand(text)
      if (read === undefined) break
      text = text.slice(read.length)
      const isFirst = !client.isListening
      out += answer(client, read.words)
      // This does what the real server does: whatever follows a connection's first SUBSCRIBE in the same packet is lost.
      if (isFirst && client.isListening) text = ''
    }
    socket.write(out, 'latin1')
  })
}).listen(Number(port), '127.0.0.1', () => console.log('ready'))

/** The array of bulk strings at the start of the text, once it is complete. */
function readCommand(text: string): { words: string[]; length: number } | undefined {
  const head = /^\*(\d+)\r\n/.exec(text)
  if (head === null) return undefined
  const words: string[] = []
  let at = head[0].length
  for (let i = 0; i < Number(head[1]); i++) {
    const end = text.indexOf('\r\n', at)
    if (end < 0) return undefined
    const length = Number(text.slice(at + 1, end))
    if (text.length < end + 2 + length + 2) return undefined
    words.push(Buffer.from(text.slice(end + 2, end + 2 + length), 'latin1').toString('utf8'))
    at = end + 2 + length + 2
  }
  return { words, length: at }
}

function answer(client: Client, words: string[]): string {
  const [name = '', ...rest] = words
  const command = name.toUpperCase()
  if (command === 'AUTH') {
    client.isAllowed = rest.length === 1 && rest[0] === password
    return client.isAllowed ? '+OK\r\n' : encode(new Error('invalid password'))
  }
  if (!client.isAllowed) return encode(new Error('authentication required'))
  if (client.isListening || command === 'SUBSCRIBE') return listen(client, command, rest)
  if (command === 'PING') return '+PONG\r\n'
  const reply = execute(words)
  if (/^(?:SET|DEL|DROP|SETCHAN|DELCHAN|FLUSHDB)$/.test(command) && !(reply instanceof Error))
    appendFileSync(file, `${JSON.stringify(words)}\n`)
  return command === 'SET' && reply === 'OK' ? '+OK\r\n' : encode(reply)
}

function listen(client: Client, command: string, names: readonly string[]): string {
  if (command === 'PING') return encode(['PONG', ''])
  if (command !== 'SUBSCRIBE' && command !== 'UNSUBSCRIBE')
    return encode(new Error('only (P)SUBSCRIBE / (P)UNSUBSCRIBE / PING / QUIT allowed in this context'))
  client.isListening = true
  let out = ''
  for (const name of names) {
    const set = listeners.get(name) ?? new Set()
    listeners.set(name, set)
    if (command === 'SUBSCRIBE') set.add(client)
    else set.delete(client)
    out += encode([command.toLowerCase(), name, set.size])
  }
  return out
}

function execute([name = '', ...words]: readonly string[]): Reply {
  if (name === 'READONLY') {
    isReadOnly = words[0] === 'yes'
    return 'OK'
  }
  if (isReadOnly && /^(?:SET|DEL|DROP|SETCHAN|DELCHAN|FLUSHDB)$/.test(name)) return new Error('read only')
  for (const [entry, { key, id, at }] of expirations) {
    if (at > Date.now()) continue
    expirations.delete(entry)
    execute(['DEL', key, id])
  }
  const [key = '', id = ''] = words
  const collection = collections.get(key)
  switch (name.toUpperCase()) {
    case 'SET': {
      const at = words.findIndex((word) => /^(?:POINT|BOUNDS|STRING)$/.test(word))
      const options = words.slice(2, at)
      const thing = readThing(words.slice(at), fieldsOf(options))
      if (thing === undefined) return new Error(`invalid argument '${words[2]}'`)
      if (options.includes('XX') && collection?.has(id) !== true) return null
      if (options.includes('NX') && collection?.has(id) === true) return null
      expirations.delete(`${key} ${id}`)
      if (options.includes('EX')) {
        const seconds = Number(options[options.indexOf('EX') + 1])
        expirations.set(`${key} ${id}`, { key, id, at: Date.now() + seconds * 1000 })
      }
      if (collection === undefined) collections.set(key, new Map([[id, thing]]))
      const before = collection?.get(id)
      collection?.set(id, thing)
      detect(key, id, before, thing)
      return 'OK'
    }
    case 'GET': {
      const thing = collection?.get(id)
      if (thing === undefined) return null
      if (thing.kind === 'string') return thing.text
      return thing.kind === 'point' ? pointReply(thing) : JSON.stringify(thing)
    }
    case 'DEL': {
      if (collection?.has(id) !== true) return 0
      collection.delete(id)
      if (collection.size === 0) collections.delete(key)
      publishAll(key, { command: 'del', key, id })
      return 1
    }
    case 'DROP':
      publishAll(key, { command: 'drop', key })
      return collections.delete(key) ? 1 : 0
    case 'SCAN':
    case 'INTERSECTS':
    case 'NEARBY':
      return search(name.toUpperCase(), words)
    case 'SETCHAN': {
      const at = words.indexOf('INTERSECTS')
      const seconds = words[1] === 'EX' ? Number(words[2]) : Infinity
      const box = readThing(words.slice(words.indexOf('BOUNDS')))
      if (at < 0 || box?.kind !== 'bounds' || !words.includes('FENCE'))
        return new Error('missing FENCE argument')
      channels.set(key, {
        key: words[at + 1]!,
        box,
        detect: new Set(words[words.indexOf('DETECT') + 1]!.split(',')),
        until: Date.now() + seconds * 1000,
        words: words.join(' '),
      })
      return 1
    }
    case 'ROLE':
      return ['master', 0, []]
    case 'KEYS':
      return [...collections.keys()].filter((one) => isLike(one, key))
    case 'FLUSHDB':
      for (const map of [collections, channels, expirations]) map.clear()
      return 'OK'
    case 'DELCHAN':
      return channels.delete(key) ? 1 : 0
    default:
      return new Error(`unknown command '${name}'`)
  }
}

/** Values as they are returned: texts in quotes are JSON, and 0 is not stored. */
function fieldsOf(options: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>()
  for (let i = 0; i < options.length; i++) {
    if (options[i] !== 'FIELD') continue
    const [name, value] = [options[i + 1]!, readValue(options[i + 2]!)]
    if (value !== '0') fields.set(name, value)
    i += 2
  }
  return fields
}

function readValue(text: string): string {
  return text.startsWith('"') ? JSON.parse(text) : text
}

function readThing(
  [kind = '', ...values]: readonly string[],
  fields: ReadonlyMap<string, string> = new Map(),
): Thing | undefined {
  const numbers = values.map(Number)
  if (kind === 'STRING' && values.length === 1) return { kind: 'string', text: values[0]! }
  if (numbers.some((number) => Number.isNaN(number))) return undefined
  const [a = 0, b = 0, c = 0, d = 0] = numbers
  if (kind === 'POINT' && values.length === 2) return { kind: 'point', latitude: a, longitude: b, fields }
  if (kind === 'BOUNDS' && values.length === 4)
    return { kind: 'bounds', south: a, west: b, north: c, east: d }
  return undefined
}

function pointReply({ latitude, longitude, fields }: Extract<Thing, { kind: 'point' }>): readonly Reply[] {
  const point = [`${latitude}`, `${longitude}`]
  return fields.size === 0 ? [point] : [point, [...fields].flat()]
}

/** Whether the fields match every `WHERE name least most` and `WHEREIN name count value …`. */
function matches(thing: Thing, words: readonly string[]): boolean {
  const fields: ReadonlyMap<string, string> = thing.kind === 'point' ? thing.fields : new Map()
  for (let i = 0; i < words.length; i++) {
    const value = fields.get(words[i + 1]!) ?? '0'
    if (words[i] === 'WHERE') {
      const [least, most] = [words[i + 2]!, words[i + 3]!]
      const number = Number(value)
      if (least.startsWith('(') ? number <= Number(least.slice(1)) : number < limit(least)) return false
      if (number > limit(most)) return false
    } else if (words[i] === 'WHEREIN') {
      const values = words.slice(i + 3, i + 3 + Number(words[i + 2])).map(readValue)
      if (!values.includes(value)) return false
    }
  }
  return true
}

function limit(text: string): number {
  return text === '-inf' ? -Infinity : text === '+inf' ? Infinity : Number(text)
}

/** Whether the text matches the pattern, in which `*` stands for any text. */
function isLike(text: string, pattern: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`).test(text)
}

/** `KEY [MATCH pattern] [LIMIT n] [WHERE …] [WHEREIN …] IDS|POINTS [(BOUNDS …)|(POINT lat lon meters)]`. */
function search(name: string, words: readonly string[]): Reply {
  const [key = ''] = words
  const most = words.includes('LIMIT') ? Number(words[words.indexOf('LIMIT') + 1]) : 100
  let found = [...(collections.get(key) ?? [])].filter(([, thing]) => matches(thing, words))
  if (words.includes('MATCH')) found = found.filter(([id]) => isLike(id, words[words.indexOf('MATCH') + 1]!))
  if (name === 'INTERSECTS') {
    const box = readThing(words.slice(words.indexOf('BOUNDS')))
    if (box?.kind !== 'bounds') return new Error('invalid argument')
    found = found.filter(([, thing]) => meets(thing, box))
  } else if (name === 'NEARBY') {
    const [latitude = 0, longitude = 0, meters = 0] = words.slice(words.lastIndexOf('POINT') + 1).map(Number)
    const near = found.map(([id, thing]) => ({ id, thing, far: metersTo(thing, latitude, longitude) }))
    found = near
      .filter(({ far }) => far <= meters)
      .toSorted((a, b) => a.far - b.far)
      .map(({ id, thing }) => [id, thing])
  }
  const cut = found.slice(0, most)
  return [
    cut.length < found.length ? cut.length : 0,
    cut.map(([id, thing]) => {
      if (words.includes('IDS') || thing.kind === 'bounds') return id
      return thing.kind === 'point' ? [id, ...pointReply(thing)] : [id, thing.text]
    }),
  ]
}

function meets(thing: Thing | undefined, box: Box): boolean {
  if (thing === undefined || thing.kind === 'string') return false
  const { south, west, north, east } =
    thing.kind === 'bounds'
      ? thing
      : { south: thing.latitude, west: thing.longitude, north: thing.latitude, east: thing.longitude }
  return south <= box.north && north >= box.south && west <= box.east && east >= box.west
}

/** On a sphere, as in Tile38. */
function metersTo(thing: Thing, latitude: number, longitude: number): number {
  if (thing.kind !== 'point') return Infinity
  const radians = Math.PI / 180
  const up = Math.sin(((thing.latitude - latitude) * radians) / 2)
  const across = Math.sin(((thing.longitude - longitude) * radians) / 2)
  const cosines = Math.cos(latitude * radians) * Math.cos(thing.latitude * radians)
  return 2 * 6371e3 * Math.asin(Math.min(1, Math.sqrt(up * up + cosines * across * across)))
}

function detect(key: string, id: string, before: Thing | undefined, after: Thing): void {
  for (const [name, fence] of channels) {
    if (fence.until < Date.now()) channels.delete(name)
    else if (fence.key === key && after.kind === 'point') {
      const was = meets(before, fence.box)
      const is = meets(after, fence.box)
      const kinds =
        was && is ? ['inside'] : is ? ['enter', 'inside'] : was ? ['exit', 'outside'] : ['outside']
      const object = { type: 'Point', coordinates: [after.longitude, after.latitude] }
      const fields = Object.fromEntries(after.fields)
      for (const kind of kinds)
        if (fence.detect.has(kind))
          publish(name, { command: 'set', detect: kind, hook: name, key, id, object, fields })
    }
  }
}

function publishAll(key: string, message: object): void {
  for (const [name, fence] of channels) if (fence.key === key) publish(name, { ...message, hook: name })
}

function publish(name: string, message: object): void {
  for (const { socket } of listeners.get(name) ?? [])
    socket.write(encode(['message', name, JSON.stringify(message)]), 'latin1')
}

function encode(reply: Reply): string {
  if (reply === null) return '$-1\r\n'
  if (reply instanceof Error) return `-ERR ${reply.message}\r\n`
  if (typeof reply === 'number') return `:${reply}\r\n`
  if (typeof reply === 'string') {
    const bytes = Buffer.from(reply).toString('latin1')
    return `$${bytes.length}\r\n${bytes}\r\n`
  }
  return `*${reply.length}\r\n${reply.map(encode).join('')}`
}
