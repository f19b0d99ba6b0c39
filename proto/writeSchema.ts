/** Writes src/stream/protobufSchema.json, which the server loads in place of proto/ringfence.proto. */
import { readFileSync, writeFileSync } from 'node:fs'
import protobuf from 'protobufjs'

const proto = readFileSync(new URL('ringfence.proto', import.meta.url), 'utf8')
const schema = JSON.stringify(protobuf.parse(proto).root.toJSON(), null, 2)
writeFileSync(new URL('../src/stream/protobufSchema.json', import.meta.url), `${schema}\n`)
