import { derive } from '../src/accounts/scrypt.ts'
import { lowestPriority } from '../src/runtime/threadPriority.ts'

lowestPriority()

export default derive
