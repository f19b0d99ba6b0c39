/**
 * Makes what many test files need and keep in node_modules/.cache: `node test/kit/prepare.ts`. The runner starts it first. In a new
 * clone, files that run at the same time would otherwise each make it, and wait for that.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { bundleTypebox } from './bundledTypebox.ts'
import { samplePlaces } from './sampleRegion.ts'
import { makeWorld } from './world.ts'

const DASHBOARD = fileURLToPath(new URL('../../dashboard/build.ts', import.meta.url))

await bundleTypebox()
await makeWorld()
spawnSync(process.execPath, [DASHBOARD], { stdio: 'inherit' })
await samplePlaces()
