import Type from 'typebox'
import { REGION_KINDS } from '../model/region.ts'

/** The schema of what `explainUser` returns, for the OpenAPI document. */

const DateSchema = Type.String({ format: 'date-time', examples: ['2026-11-20T04:21:00.123Z'] })

const RegionExplanation = Type.Object({
  type: Type.Enum([...REGION_KINDS]),
  was: Type.Optional(Type.String({ description: 'Code of the region before the update.' })),
  is: Type.Optional(Type.String({ description: 'Code of the region in which the location lies.' })),
  confidence: Type.Integer({ minimum: 1, maximum: 3 }),
  outcome: Type.String({ description: 'same, changed or withheld.' }),
  reason: Type.String({ description: 'A sentence that explains the outcome.' }),
})

const PlaceExplanation = Type.Object({
  was: Type.Optional(
    Type.Object(
      { _id: Type.String(), name: Type.String() },
      { description: 'The place in which the user was before the update.' },
    ),
  ),
  distance: Type.Optional(Type.Number({ description: 'Distance from its edge in metres, if it is near.' })),
  confidence: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 3, description: 'The confidence of the first candidate.' }),
  ),
  firstSince: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Since when the same place is the first candidate, if the user is not in it.',
    }),
  ),
  runnerUpMeters: Type.Optional(
    Type.Number({ description: 'By how many metres the second candidate is farther away than the first.' }),
  ),
  events: Type.Array(Type.String(), { description: 'The types of the events about the place.' }),
  reason: Type.String({ description: 'Sentences that explain the outcome.' }),
  candidates: Type.Array(
    Type.Object({
      place: Type.Object({
        _id: Type.String(),
        name: Type.String(),
        categories: Type.Array(Type.String()),
        chain: Type.Optional(Type.String({ description: 'Its slug.' })),
      }),
      distance: Type.Number({ description: 'Distance from its edge in metres, negative inside.' }),
      pointDistance: Type.Number({ description: 'Distance from its point in metres.' }),
    }),
    { maxItems: 10, description: 'The most likely first.' },
  ),
})

const Candidate = Type.Object({
  geofence: Type.Object({
    _id: Type.String(),
    tag: Type.Optional(Type.String()),
    externalId: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
  }),
  wasInside: Type.Boolean({ description: 'Before the update.' }),
  enteredAt: Type.Optional(DateSchema),
  distance: Type.Optional(Type.Number({ description: 'Metres to the boundary, negative inside.' })),
  coverage: Type.Optional(
    Type.Number({ description: 'Share of the accuracy disc that the geofence covers, 0 to 1.' }),
  ),
  confidence: Type.Optional(Type.Integer({ minimum: 1, maximum: 3 })),
  eligible: Type.Optional(Type.Boolean()),
  ineligible: Type.Optional(
    Type.String({ description: 'The first rule that prevents events of this geofence.' }),
  ),
  currentlyOperating: Type.Optional(Type.Boolean()),
  outcome: Type.String(),
  event: Type.Optional(Type.String({ description: 'Type of the event, if there was one.' })),
  reason: Type.String({ description: 'A sentence that explains the outcome.' }),
  changedSince: Type.Optional(DateSchema),
})

export const ExplanationSchema = Type.Object({
  update: Type.Object({
    time: DateSchema,
    receivedAt: DateSchema,
    latitude: Type.Number(),
    longitude: Type.Number(),
    accuracy: Type.Optional(Type.Number({ description: 'Metres.' })),
    userId: Type.Optional(Type.String()),
    ip: Type.String(),
    foreground: Type.Boolean(),
    stopped: Type.Boolean(),
    replayed: Type.Boolean(),
  }),
  settings: Type.Object({}, { description: 'As in GET /v1/settings.' }),
  note: Type.Optional(Type.String({ description: 'Why the update touched no geofence at all.' })),
  candidates: Type.Array(Candidate),
  regions: Type.Optional(
    Type.Array(RegionExplanation, { description: 'One for each kind of region, if regions are on.' }),
  ),
  regionsNote: Type.Optional(Type.String({ description: 'Why the explanation has nothing about regions.' })),
  place: Type.Optional(PlaceExplanation),
  placesNote: Type.Optional(Type.String({ description: 'Why the explanation has nothing about places.' })),
})
