import { GeocoderThread, type GeocoderTask } from '../src/geo/geocoding/geocoderThread.ts'
import { stampOf } from '../src/geo/placeDatabase/fileHeader.ts'
import { PlaceDatabase } from '../src/geo/placeDatabase/reader.ts'
import { WorldDatabase } from '../src/geo/world/worldDatabase.ts'
import { runWhenIdle } from '../src/runtime/threadPriority.ts'

runWhenIdle()

const thread = new GeocoderThread(
  (file) => new PlaceDatabase(file),
  (file) => new WorldDatabase(file),
  stampOf,
)

export default (task: GeocoderTask) => thread.reply(task)
