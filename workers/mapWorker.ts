import { MapThread, type MapTask } from '../src/geo/maps/mapThread.ts'
import { lowerPriority } from '../src/runtime/threadPriority.ts'

lowerPriority()

const thread = new MapThread()

export default (task: MapTask) => thread.make(task)
