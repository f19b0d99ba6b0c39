import { serveEngine } from '../src/routing/engineChild.ts'

serveEngine(() => import('@valhallajs/valhallajs'))
