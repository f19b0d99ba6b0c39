import Type from 'typebox'
import type { Route } from '../../http/route.ts'
import { route } from '../../http/route.ts'
import { dateText } from '../../http/schemas.ts'
import { isLive, projectOf } from '../../model/scope.ts'
import { badParam, notFound } from '../../runtime/errors.ts'
import { dateField, type Fields } from '../../http/fields.ts'
import type { KeyRecord } from './keys.ts'
import { type Keys, keyKind, OverlapRefused } from './keys.ts'

const Level = Type.Union([Type.Literal('publishable'), Type.Literal('secret')])
const KeyAnswer = Type.Object({
  kind: Level,
  live: Type.Boolean(),
  lastFour: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
  validUntil: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'When the key becomes invalid; only for a key that was replaced.',
    }),
  ),
  key: Type.Optional(
    Type.String({
      description:
        'The whole key: of a publishable one, unless it was made by a version that did not store it; of a secret one only in the ' +
        'response to its rotation.',
    }),
  ),
})
const TAG = 'Keys'
const OVERLAP = 'oldKeyValidUntil'
/** Other members are refused, because with a mistyped name, the old key would become invalid at once. */
const Rotation = Type.Object(
  {
    [OVERLAP]: Type.Optional(
      dateText('When the old key becomes invalid: at most 90 days from now. If it is absent, at once.'),
    ),
  },
  { additionalProperties: false },
)

/** The dependencies of the keys' routes. */
export interface KeyRouteParts {
  readonly keys: Keys
  /** Makes an edit; see {@link EditLog}. */
  edit<T>(work: () => T): Promise<T>
}

/** The two keys of the caller's own project and environment: a test key learns nothing about the live ones. */
export function keyRoutes(registry: KeyRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/keys',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: "List the environment's keys",
      description: 'Secret keys are shown by their last four characters, publishable keys in full.',
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
      role: 'admin',
      keySession: false,
      tag: TAG,
      summary: 'Replace a key',
      description:
        'Without `oldKeyValidUntil`, all earlier keys of this kind become invalid at once. With it, the old key stays valid beside ' +
        'the new one until that time; open streams with the old key end then. Only this response contains the new key.',
      params: Type.Object({ kind: Level }),
      body: Rotation,
      answers: { 200: Type.Object({ key: KeyAnswer, oldKey: Type.Optional(KeyAnswer) }) },
      handler: async (call) => {
        const { scope } = call.credentials!
        const kind = keyKind(isLive(scope), call.params.kind)
        const until = dateField(call.body as Fields, OVERLAP)
        const rotated = await registry
          .edit(() => registry.keys.rotate(projectOf(scope), kind, until))
          .catch((error: Error) => {
            throw error instanceof OverlapRefused ? badParam(OVERLAP, error.message, error) : error
          })
        if (rotated === undefined) throw notFound('Key')
        const { key, record, old } = rotated
        return { body: { key: { ...keyAnswer(record), key }, ...(old && { oldKey: keyAnswer(old) }) } }
      },
    }),
  ]
}

function keyAnswer({ kind, lastFour, createdAt, validUntil, text }: KeyRecord) {
  return {
    kind: kind.endsWith('Secret') ? 'secret' : 'publishable',
    live: kind.startsWith('live'),
    lastFour,
    createdAt: new Date(createdAt).toISOString(),
    ...(typeof text === 'string' && { key: text }),
    ...(validUntil !== null && { validUntil: new Date(validUntil).toISOString() }),
  }
}
