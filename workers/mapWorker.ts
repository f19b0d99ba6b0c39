import { MapThread, type MapTask } from '../src/geo/maps/mapThread.ts'
import { runBehindTracking } from '../src/runtime/threadPriority.ts'

runBehindTracking()

const thread = new MapThread()

export default (task: MapTask) => thread.make(task)
