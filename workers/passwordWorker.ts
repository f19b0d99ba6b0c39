import { derive } from '../src/accounts/scrypt.ts'
import { runBehindTracking } from '../src/runtime/threadPriority.ts'

runBehindTracking()

export default derive
