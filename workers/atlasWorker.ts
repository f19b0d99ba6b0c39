import { CellThread, type CellTask } from '../src/geo/atlas/cellThread.ts'
import { stampOf } from '../src/geo/placeDatabase/fileHeader.ts'
import { PlaceDatabase } from '../src/geo/placeDatabase/reader.ts'
import { WorldDatabase } from '../src/geo/world/worldDatabase.ts'

const thread = new CellThread(
  (file) => new PlaceDatabase(file),
  (file) => new WorldDatabase(file),
  stampOf,
)

export default (task: CellTask) => thread.read(task)
