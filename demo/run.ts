/** `npm run demo`: see {@link HELP}. */
import { parseArgs } from 'node:util'
import { Api, CallFailed } from './api.ts'
import { driveCity } from './city.ts'
import { replay } from './replay.ts'
import { Screen } from './screen.ts'
import { connectOrStart, UsageError, type DemoServer } from './server.ts'

const HELP = `Usage: npm run demo -- [options]

Drives simulated devices through random geofences and shows the events as they come.

  --url URL          the server; default http://127.0.0.1:8080. If no server responds and there is no --key, the demo starts one.
  --key KEY          the secret test key of the server; default: the third key of RINGFENCE_KEYS
  --devices N        number of devices; default 500
  --seconds N        duration; default: until Ctrl-C
  --keep             keep the geofences and users of this run on the server

It can also replay a recorded trace with its original times, in fast motion:

  --gpx FILE         the trace
  --geofences FILE   CSV file of geofences to import; they are kept on the server
`

function options() {
  const { values } = parseArgs({
    options: {
      url: { type: 'string', default: 'http://127.0.0.1:8080' },
      key: { type: 'string' },
      devices: { type: 'string', default: '500' },
      seconds: { type: 'string' },
      keep: { type: 'boolean', default: false },
      gpx: { type: 'string' },
      geofences: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const devices = Number(values.devices)
  const seconds = values.seconds === undefined ? undefined : Number(values.seconds)
  if (!Number.isInteger(devices) || devices < 1) throw new UsageError('--devices: a whole number above 0')
  if (seconds !== undefined && !(seconds > 0)) throw new UsageError('--seconds: a number above 0')
  if ((values.gpx === undefined) !== (values.geofences === undefined)) {
    throw new UsageError('--gpx and --geofences must be given together')
  }
  return { ...values, devices, seconds }
}

async function main(): Promise<void> {
  const { url, key, devices, seconds, keep, gpx, geofences, help } = options()
  if (help) {
    console.log(HELP)
    return
  }
  const stop = new AbortController()
  // The second signal does not wait.
  const end = () => (stop.signal.aborted ? process.exit(130) : stop.abort())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end)
  const server = await connectOrStart(url, key)
  const api = new Api(server.url, server.key)
  const screen = new Screen()
  screen.line(dashboardLine(server))
  try {
    if (gpx !== undefined && geofences !== undefined)
      await replay(api, screen, { gpx, geofences }, stop.signal)
    else await driveCity(api, screen, { devices, seconds, keep, temporary: server.temporary }, stop.signal)
  } finally {
    await server.stop()
  }
}

/** Where to look at it: the key is only shown where the demo made it. */
function dashboardLine({ url, key, temporary }: DemoServer): string {
  const at = `See it on a map: ${url}/test/map`
  return temporary ? `${at}\nSign in there with this key: ${key}` : `${at} (sign in with the secret test key)`
}

try {
  await main()
} catch (error) {
  const usage =
    error instanceof UsageError || (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS')
  console.error(usage || error instanceof CallFailed ? (error as Error).message : error)
  if (usage) console.error('`npm run demo -- --help` shows the options.')
  process.exitCode = 1
}
