/** An upload whose client sends as fast as the server reads, so that the socket cannot be made to wait. */
import t from 'tap'
import type { HttpResponse } from 'uWebSockets.js'
import { Upload } from '../../src/http/upload.ts'

const PIECE = new ArrayBuffer(1 << 20)
const MIB_OF_BOUND = 256

t.test('what waits for the reader is bounded', async (t) => {
  let pauses = 0
  const res = { pause: () => void pauses++, resume() {} } as unknown as HttpResponse
  const upload = new Upload(res, 2 ** 40)
  for (let i = 0; i <= MIB_OF_BOUND; i++) upload.receive(PIECE, false)
  t.notOk(upload.destroyed, 'as much as is allowed')
  t.ok(pauses > 0, 'the socket is asked to wait')
  for (let i = 0; i < 1000; i++) upload.receive(PIECE, false)
  t.ok(upload.destroyed)
  t.equal(upload.received, (MIB_OF_BOUND + 2) << 20, 'the rest is not kept')
  t.match(upload.errored, { code: 503, message: /came faster than it can be stored/ })
})
