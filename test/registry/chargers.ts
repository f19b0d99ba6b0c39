/** An invented kind of records, which shows everything that a new collection needs. */
import Type from 'typebox'
import { checkRequired, type Fields } from '../../src/http/fields.ts'
import { atLeastOne } from '../../src/http/needs.ts'
import { isoDate } from '../../src/model/isoDate.ts'
import type { Metadata } from '../../src/model/metadata.ts'
import type { Entity } from '../../src/registry/records/entity.ts'
import {
  bodyOf,
  choice,
  flag,
  metadata,
  number,
  readFields,
  reference,
  requiredRule,
  text,
} from '../../src/registry/records/fieldRules.ts'
import type { Pair } from '../../src/registry/records/recordFields.ts'
import { recordRows, StoredMetadata, type ScopedRecord } from '../../src/registry/records/recordRows.ts'
import { DateTime } from '../../src/http/schemas.ts'
import { MetadataRecord } from '../../src/registry/records/recordSchemas.ts'

export interface ChargerDefinition {
  readonly tag?: string
  readonly externalId?: string
  readonly description: string
  readonly plug: 'ccs' | 'type2'
  readonly kilowatts: number
  readonly isPublic: boolean
  readonly metadata?: Metadata
}

type Charger = ChargerDefinition & ScopedRecord

const FIELDS = {
  description: requiredRule(text(100, 'Display name.')),
  plug: requiredRule(choice(['ccs', 'type2'], 'ccs or type2.')),
  kilowatts: number(1, 400, 'Required if there are no amperes. 1 to 400.'),
  amperes: number(1, 1000, 'Instead of kilowatts, at 400 volts.'),
  tag: reference('tag', 'Group of the charger.'),
  externalId: reference('externalId', 'Your own id, unique within the tag.'),
  isPublic: flag('Default false.'),
  metadata: metadata(),
}

const Body = bodyOf(FIELDS, { title: 'ChargerDefinition' }, [atLeastOne('kilowatts', 'amperes')])

function parseCharger(fields: Fields, known?: Pair): ChargerDefinition {
  checkRequired(Body, fields)
  const { kilowatts, amperes = 0, isPublic = false, ...rest } = readFields(FIELDS, fields, known)
  return { ...rest, isPublic, kilowatts: kilowatts ?? (amperes * 400) / 1000 }
}

export const CHARGERS: Entity<ChargerDefinition, Charger> = {
  singular: 'charger',
  plural: 'chargers',
  tag: 'Chargers',
  rows: recordRows(
    'chargers',
    'some',
    Type.Object({
      description: Type.String(),
      plug: Type.Enum(['ccs', 'type2']),
      kilowatts: Type.Number(),
      isPublic: Type.Boolean(),
      metadata: Type.Optional(StoredMetadata),
    }),
  ),
  newBody: Body,
  body: Body,
  parse: parseCharger,
  record: Type.Object(
    {
      _id: Type.String(),
      createdAt: DateTime,
      updatedAt: DateTime,
      tag: Type.Optional(Type.String()),
      externalId: Type.Optional(Type.String()),
      description: Type.String(),
      plug: Type.String(),
      kilowatts: Type.Number(),
      isPublic: Type.Boolean(),
      metadata: Type.Optional(MetadataRecord),
    },
    { title: 'Charger' },
  ),
  answer: ({ id, scope: _scope, createdAt, updatedAt, ...rest }) => ({
    _id: id,
    createdAt: isoDate(createdAt),
    updatedAt: isoDate(updatedAt),
    ...rest,
  }),
}
