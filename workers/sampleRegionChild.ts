import { importSample } from '../src/geodata/sampleImport.ts'
import { takeFolder } from '../src/log/store.ts'

await importSample(process.argv[2]!, takeFolder)
