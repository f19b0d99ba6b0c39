/** Installs those servers that tests run and that are missing here, and prints where each one is. */
import { GO_SERVERS, serverBinary } from './goServers.ts'
import { valhallaServer } from './valhallaServer.ts'

for (const server of GO_SERVERS) console.log(await serverBinary(server))
console.log(await valhallaServer())
