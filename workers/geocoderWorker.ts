import { GeocoderThread, type GeocoderTask } from '../src/geo/geocoding/geocoderThread.ts'
import { PlaceDatabase } from '../src/geo/placeDatabase/reader.ts'

const thread = new GeocoderThread((file) => new PlaceDatabase(file))

export default (task: GeocoderTask) => thread.answer(task)
