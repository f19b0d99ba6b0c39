import { importUpload } from '../src/geo/extract/uploadImport.ts'
import { takeFolder } from '../src/log/store.ts'

const [folder, path, name] = process.argv.slice(2)
await importUpload({ folder: folder!, path: path!, name: name! }, takeFolder)
