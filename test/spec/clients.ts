import { readItems } from './item.ts'

/** Clients of others, and what they rely on. A line without a test is not built yet, or not completely. */
export const CLIENT_ITEMS = readItems(`
# The contract (clients)
answers | every answer of the test suites is as the OpenAPI document says | kit/apiContract.test.ts: an answer that differs from the document is refused
changes | a breaking change against the document of the last release is noticed | spec/breaking.test.ts: nothing that clients of the last release rely on has changed; spec/breaking.test.ts: what breaks clients; spec/breaking.test.ts: what does not
`)
