import Type from 'typebox'
import type { Route } from '../api/route.ts'
import { route } from '../api/route.ts'
import { isLive, projectOf } from '../model/scope.ts'
import { notFound } from '../runtime/errors.ts'
import type { KeyRecord } from './keys.ts'
import { keyKind } from './keys.ts'
import type { Registry } from './registry.ts'

const Level = Type.Union([Type.Literal('publishable'), Type.Literal('secret')])
const KeyAnswer = Type.Object({
  kind: Level,
  live: Type.Boolean(),
  lastFour: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
  key: Type.Optional(Type.String({ description: 'The whole key; only in the response to a rotation.' })),
})
const TAG = 'Keys'

/** The two keys of the caller's own project and environment: a test key learns nothing of the live ones. */
export function keyRoutes(registry: Registry): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/keys',
      auth: 'secret',
      tag: TAG,
      summary: "List the environment's keys by their last four characters",
      answers: { 200: Type.Object({ keys: Type.Array(KeyAnswer) }) },
      handler: (call) => {
        const { scope } = call.credentials!
        const keys = registry.keys.list(projectOf(scope)).map(keyAnswer)
        return { body: { keys: keys.filter(({ live }) => live === isLive(scope)) } }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/keys/:kind/rotate',
      auth: 'secret',
      tag: TAG,
      summary: 'Replace a key',
      description: 'The old key becomes invalid at once. Only this response contains the new key.',
      params: Type.Object({ kind: Level }),
      answers: { 200: Type.Object({ key: KeyAnswer }) },
      handler: async (call) => {
        const { scope } = call.credentials!
        const kind = keyKind(isLive(scope), call.params.kind)
        const rotated = await registry.edit(() => registry.keys.rotate(projectOf(scope), kind))
        if (rotated === undefined) throw notFound('Key')
        return { body: { key: { ...keyAnswer(rotated.record), key: rotated.key } } }
      },
    }),
  ]
}

function keyAnswer({ kind, lastFour, createdAt }: KeyRecord) {
  return {
    kind: kind.endsWith('Secret') ? 'secret' : 'publishable',
    live: kind.startsWith('live'),
    lastFour,
    createdAt: new Date(createdAt).toISOString(),
  }
}
