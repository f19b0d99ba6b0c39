import { readItems } from './item.ts'

/** Clients of others, and what they rely on. A line without a test is not built yet, or not completely. */
export const CLIENT_ITEMS = readItems(`
# The contract (clients)
answers | every answer of the test suites is as the OpenAPI document says | kit/apiContract.test.ts: an answer that differs from the document is refused
changes | a breaking change against the document of the last release is noticed | spec/breaking.test.ts: nothing that clients of the last release rely on has changed; spec/breaking.test.ts: what breaks clients; spec/breaking.test.ts: what does not
AsyncAPI | a valid document of streams and webhooks, and their messages are as it says | stream/asyncApi.test.ts: the document is valid AsyncAPI; stream/asyncApi.test.ts: every message of a stream is as the document says; stream/asyncApi.test.ts: the messages of webhooks are as the document says
MCP | tools over the public API, read-only by default | mcp/assistants.test.ts: why did this device not enter?; mcp/assistants.test.ts: each tool is an operation, with the schema of the API; mcp/assistants.test.ts: what a key may not do, its assistant is not offered; mcp/assistants.test.ts: prompts in metadata are data; mcp/assistants.test.ts: over HTTP each client has its own key
generated clients | TypeScript and Python clients of public generators compile and run | sdk/client.test.ts: calls with every kind of parameter, and their errors; clients/typescript.slow.test.ts: a client that @hey-api/openapi-ts generates: it compiles, and it makes a round; clients/python.slow.test.ts: a client that openapi-python-client generates: it loads, and it makes a round
MCP | the public inspector, over stdio and HTTP | mcp/inspector.slow.test.ts: over stdio; mcp/inspector.slow.test.ts: over HTTP

# Existing clients (clients)
radar-sdk-js 4.5, search | the autocomplete widget, geocoding and search, from another origin in Chromium | compatibility/webSdkSearch.test.ts: the web SDK 4.5.8 in a browser
radar-sdk-js 3.7 and 4.5 | every public call and error class, in Node and Chromium | clients/webSdks.slow.test.ts: in Node; clients/webSdks.slow.test.ts: in Chromium
radar-python | every public call and error class, with form bodies | clients/python.slow.test.ts: radar-python: every public call, and its error classes
npm run move | geofences, beacons and settings are copied out of a project | cli/move.slow.test.ts: an interrupted move goes on where it was; cli/move.slow.test.ts: killed again and again, it goes on, and in the end everything is there once; cli/move.slow.test.ts: records that this server refuses are told, and the rest is copied
`)
