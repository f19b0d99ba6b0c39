/** A child process on a machine without Valhalla's package. */
import { serveEngine } from '../../src/geo/routing/engineChild.ts'

const absent = '@valhallajs/not-there'
serveEngine(() => import(absent))
