/**
 * `npm run release:interface`: keeps the OpenAPI document of the version that is being released, for the check of
 * breaking changes. Texts for readers are left out, because they may change at any time.
 */
import { writeFileSync } from 'node:fs'
import { Server } from '../kit/server.ts'
import { RELEASED, withoutTexts } from './released.ts'

const server = await Server.start({ env: { RINGFENCE_RATE_LIMITS: 'on' } })
try {
  const { paths, components } = server.contract!.document
  const { schemas } = components
  const kept = withoutTexts({ paths, components: { schemas } })
  // A line for each path and schema, so that a comparison of two versions can be read.
  writeFileSync(
    RELEASED,
    JSON.stringify(kept).replaceAll(/(?<=[{,])(?="\/v1\/)|(?<=[{,])(?="[A-Z]\w+":\{)/g, '\n'),
  )
} finally {
  await server.dispose()
}
