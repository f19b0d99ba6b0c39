import t from 'tap'
import { createGeofenceIndex } from '../../src/spatial/cellIndex.ts'
import { geofenceIndexContract } from './contract.ts'

geofenceIndexContract(t, 'cells', createGeofenceIndex)
