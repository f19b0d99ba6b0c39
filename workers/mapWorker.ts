import { MapThread, type MapTask } from '../src/geo/maps/mapThread.ts'

const thread = new MapThread()

export default (task: MapTask) => thread.make(task)
