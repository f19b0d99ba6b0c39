/** A thread that serves one file over HTTP; each message names another one. It is a thread so that nothing else waits for it. */
import { createReadStream, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort } from 'node:worker_threads'

let file = ''
parentPort!.on('message', (name: string) => {
  file = name
  parentPort!.postMessage('')
})

const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/csv', 'content-length': statSync(file).size })
  createReadStream(file).pipe(response)
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  parentPort!.postMessage(`http://127.0.0.1:${port}/geofences.csv`)
})
