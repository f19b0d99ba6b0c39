import { derive } from '../src/accounts/scrypt.ts'
import { leaveOneProcessor, lowerPriority } from '../src/runtime/threadPriority.ts'

lowerPriority()
leaveOneProcessor()

export default derive
