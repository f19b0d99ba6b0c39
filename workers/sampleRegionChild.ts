import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { importSample } from '../src/geo/extract/sampleImport.ts'
import { buildWorld } from '../src/geo/world/worldBuilder.ts'
import { takeFolder } from '../src/log/store.ts'

const dataFolder = process.argv[2]!
setPriority(constants.priority.PRIORITY_LOW)
try {
  // So that the first question about the sample does not wait for it.
  buildWorld(join(dataFolder, 'world'))
} catch {
  // That question makes it then, and reports why it cannot be made.
}
await importSample(dataFolder, takeFolder)
