import { buildWorld } from '../src/geo/world/worldBuilder.ts'

buildWorld(process.argv[2]!)
