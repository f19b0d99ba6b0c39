import { serveEngine } from '../src/geo/routing/engineChild.ts'

serveEngine(() => import('@valhallajs/valhallajs'))
