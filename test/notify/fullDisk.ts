/** Loaded before a server: its disk seems to have 5 % left. */
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const { statfs } = promises
Object.assign(promises, {
  async statfs(path: string) {
    const real = await statfs(path)
    return { ...real, bavail: Math.floor(real.blocks * 0.05) }
  },
})
syncBuiltinESMExports()
