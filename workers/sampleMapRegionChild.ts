import { importSample } from '../src/geo/extract/sampleImport.ts'
import { takeFolder } from '../src/log/store.ts'

await importSample(process.argv[2]!, takeFolder)
