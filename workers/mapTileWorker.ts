import { TileThread, type TileTask } from '../src/geo/maps/tileThread.ts'

const thread = new TileThread()

export default (task: TileTask) => thread.cut(task)
