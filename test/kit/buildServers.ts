/** Brings what is missing of the servers that tests run, and says where each is. */
import { GO_SERVERS, serverBinary } from './goServers.ts'
import { valhallaServer } from './valhallaServer.ts'

for (const server of GO_SERVERS) console.log(await serverBinary(server))
console.log(await valhallaServer())
