/** Answers in the packed form, which threads hand over, are the same bytes as those in texts. */
import t from 'tap'
import Type from 'typebox'
import { route, type Answer } from '../../src/http/route.ts'
import { packUtf8, unpackUtf8 } from '../../src/runtime/packedUtf8.ts'
import { RawConnection, toyServer } from './toy.ts'

const meta = { attribution: '© somebody' }
const TEXTS = ['', 'a', 'ñandú', '🇺🇾', '日本 "\\ \u0000 é', '\u2028']

const toy = await toyServer(t, {
  routes: [
    route({
      method: 'GET',
      path: '/v1/letters',
      auth: 'none',
      summary: 'Letters',
      tag: 'Toys',
      query: Type.Object({
        letter: Type.String(),
        times: Type.Integer(),
        packed: Type.Boolean(),
        status: Type.Optional(Type.Integer()),
        takesMs: Type.Optional(Type.Integer()),
      }),
      answers: { 200: Type.Object({}) },
      handler: ({
        query: { letter, times, packed, status = 200, takesMs = 0 },
      }): Answer | Promise<Answer> => {
        for (const until = performance.now() + takesMs; performance.now() < until;);
        const json = `"letters":${JSON.stringify(letter.repeat(times))}`
        if (!packed) return { status, json, meta }
        const answer = { status, packedJson: packUtf8(json), meta }
        return times % 2 === 0 ? answer : Promise.resolve(answer)
      },
    }),
  ],
})

const path = (letter: string, times: number, packed: boolean, status = 200): string =>
  `/v1/letters?${new URLSearchParams({ letter, times: `${times}`, packed: `${packed}`, status: `${status}` })}`

t.test('packing and unpacking', async (t) => {
  for (const text of TEXTS) {
    t.equal(unpackUtf8(packUtf8(text)), text)
    t.equal(packUtf8(text).length, Buffer.byteLength(text), 'a character for each byte')
  }
})

t.test('short and long ones, at once and as promises', async (t) => {
  for (const letter of ['a', 'ñ', '🇺🇾'])
    for (const times of [1, 1000, 8000, 32_001, 65_440, 65_460, 65_536, 300_001]) {
      const [plain, packed] = await Promise.all([false, true].map((is) => toy.call(path(letter, times, is))))
      t.ok(packed!.text === plain!.text, `${times} times ${letter}`)
      t.equal(packed!.headers.get('content-type'), plain!.headers.get('content-type'))
      t.strictSame(packed!.body.meta, { code: 200, ...meta })
    }
  const created = await toy.call(path('ñ', 3, true, 201))
  t.equal(created.status, 201)
  t.strictSame(created.body, { meta: { code: 201, ...meta }, letters: 'ñññ' })
})

t.test('the head alone has the length', async (t) => {
  const [plain, packed] = await Promise.all(
    [false, true].map((is) => fetch(toy.base + path('🇺🇾', 1000, is), { method: 'HEAD' })),
  )
  t.equal(packed!.headers.get('content-length'), plain!.headers.get('content-length'))
  t.equal(await packed!.text(), '')
})

t.test('many in one turn, of which some are written in a later one, do not mix', async (t) => {
  const letters = Array.from({ length: 40 }, (_, i) => String.fromCharCode(0x4e00 + i))
  const clients = await Promise.all(letters.map(() => RawConnection.open(t, toy.port)))
  for (const [i, letter] of letters.entries())
    clients[i]!.write(`GET ${path(letter, 2000, true)}&takesMs=1 HTTP/1.1\r\nHost: a\r\n\r\n`)
  for (const [i, letter] of letters.entries()) {
    const client = clients[i]!
    await client.until(() => client.received.endsWith('"}'))
    const body = unpackUtf8(client.received.slice(client.received.indexOf('{')))
    t.ok(body === JSON.stringify({ meta: { code: 200, ...meta }, letters: letter.repeat(2000) }), letter)
  }
})
