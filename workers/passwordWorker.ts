import { derive } from '../src/accounts/scrypt.ts'
import { lowerPriority } from '../src/runtime/threadPriority.ts'

lowerPriority()

export default derive
