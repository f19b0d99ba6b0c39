/** A client in TypeScript that a public generator makes of the OpenAPI document: it compiles, and it makes a round. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { skipUnless } from '../kit/goServers.ts'
import { npmPackages } from '../kit/npmPackages.ts'
import { KEYS, startServer } from '../kit/server.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const run = promisify(execFile)
const MOST_BYTES = 16 * 1024 * 1024
/** The generator needs the compiler's interface, which version 7 does not have. */
const generator = () => npmPackages('openapi-ts', ['@hey-api/openapi-ts@0.99.0', 'typescript@5.9.3'])

const folder = mkdtempSync(join(tmpdir(), 'ringfence-typescript-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const skip = await skipUnless(generator)
const packages = skip === false ? await generator() : ''
const server = await startServer(t)

/** What a program does with it. */
const ROUND = `
import * as api from './client'
import { client } from './client/client.gen'

declare const process: { readonly env: Record<string, string>; readonly stdout: { write(text: string): void } }

const as = (key: string) => ({ Authorization: key })

async function round(): Promise<void> {
  const { URL: baseUrl, SECRET } = process.env
  client.setConfig({ baseUrl: baseUrl!, headers: as(SECRET!) })
  const put = await api.putV1GeofencesByTagByExternalId({
    path: { tag: 'generated', externalId: 'one' },
    body: { description: 'Generated', type: 'circle', coordinates: [9.52, 47.14], radius: 100, userIds: ['ann'] },
  })
  const tracked = await api.postV1Track({
    body: { deviceId: 'phone', userId: 'ann', latitude: 47.14, longitude: 9.52, accuracy: 10 },
  })
  // Not that of an update that need not be waited for, which is answered with 202.
  const userId: string | undefined = (tracked.data as api.PostV1TrackResponses[200]).user.userId
  const explained = await api.getV1UsersByIdExplain({ path: { id: 'ann' } })
  const events = await api.getV1Events({ query: { userId: 'ann', limit: 1 } })
  const near = await api.getV1SearchUsers({ query: { near: '47.14,9.52', radius: 500 } })
  const missing = await api.getV1UsersById({ path: { id: 'nobody' } })
  const bad = await api.putV1GeofencesByTagByExternalId({
    path: { tag: 'generated', externalId: 'bad' },
    body: { description: 'Bad', type: 'circle', radius: 1 },
  })
  const unknown = await api.getV1Events({ headers: as('prj_test_sk_' + '9'.repeat(40)) })
  const failed = (one: { error?: unknown; response?: Response }) => [one.response?.status, one.error]
  process.stdout.write(
    JSON.stringify({
      userId,
      put: put.data,
      tracked: tracked.data,
      explained: explained.data,
      events: events.data,
      near: near.data,
      failed: [missing, bad, unknown].map(failed),
    }),
  )
}

void round()
`
/** Programs that do not compile, because the types are those of the interface. */
const WRONG = [
  `import { postV1Track } from './client'\nvoid postV1Track({ body: { deviceId: 7, latitude: 1, longitude: 2 } })`,
  `import { getV1UsersById } from './client'\nvoid getV1UsersById({ path: {} })`,
]

t.test(
  'a client that @hey-api/openapi-ts generates: it compiles, and it makes a round',
  { skip },
  async (test) => {
    const { body } = await server.api('GET', '/v1/openapi.json', undefined, null)
    const file = (name: string) => join(folder, name)
    writeFileSync(file('openapi.json'), JSON.stringify(body))
    const generate = join(packages, '@hey-api/openapi-ts/bin/run.js')
    await node(generate, '-i', file('openapi.json'), '-o', file('client'), '--silent')
    const compile = (name: string, text: string) => {
      writeFileSync(file(`${name}.ts`), text)
      const options = [
        '--strict',
        '--target',
        'es2022',
        '--module',
        'commonjs',
        '--moduleResolution',
        'node10',
      ]
      const lib = ['--lib', 'es2022,dom,dom.iterable', '--outDir', file('out')]
      return node(join(packages, 'typescript/bin/tsc'), ...options, ...lib, file(`${name}.ts`))
    }
    await compile('round', ROUND).catch((error: Json) => test.fail(error.stdout))
    for (const [i, text] of WRONG.entries())
      await test.rejects(
        compile(`wrong${i}`, text),
        { stdout: new RegExp(`wrong${i}\\.ts\\(2,.*error TS2`) } as never,
        text,
      )

    const came = JSON.parse(await node(file('out/round.js')))
    test.equal(came.userId, 'ann')
    const geofence = { tag: 'generated', externalId: 'one', userIds: ['ann'] }
    test.match(came.put, { meta: { code: 200 }, geofence })
    test.match(came.tracked, {
      user: { userId: 'ann', deviceId: 'phone' },
      events: [{ type: 'user.entered_geofence', geofence: { tag: 'generated' } }],
    })
    test.match(came.explained.explanation.candidates, [{ geofence: { tag: 'generated' } }])
    test.match(came.events, { meta: { hasMore: Boolean }, events: [{ type: 'user.entered_geofence' }] })
    test.match(came.near, { users: [{ userId: 'ann' }] })
    test.match(came.failed, [
      [404, { meta: { code: 404 } }],
      [400, { meta: { code: 400, param: 'coordinates' } }],
      [401, { meta: { code: 401 } }],
    ])
  },
)

/** What a program prints. */
async function node(...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, args, {
    env: { ...process.env, NODE_OPTIONS: '', URL: server.url, SECRET: KEYS.testSecret },
    cwd: folder,
    maxBuffer: MOST_BYTES,
  })
  return stdout
}
