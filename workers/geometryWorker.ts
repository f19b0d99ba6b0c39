import { move } from 'piscina'
import { measureShapes } from '../src/geometry/shapeBatch.ts'
import type { ShapeBatch } from '../src/geometry/shapeBatch.ts'

export default (batch: ShapeBatch) => move(measureShapes(batch))
