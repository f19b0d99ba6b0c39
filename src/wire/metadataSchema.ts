import Type from 'typebox'
import { METADATA_TEXT_LENGTH, USER_METADATA_KEYS, type Metadata } from '../model/metadata.ts'
import { badParam } from '../runtime/errors.ts'

const MAX_KEY_LENGTH = 256

/** Custom data from an app: a flat object. {@link checkMetadata} checks the lengths of keys. */
export const MetadataBody = Type.Record(
  Type.String(),
  Type.Union([Type.String({ maxLength: METADATA_TEXT_LENGTH }), Type.Boolean(), Type.Number()]),
  {
    maxProperties: USER_METADATA_KEYS,
    description: `Up to ${USER_METADATA_KEYS} keys, of 1 to ${MAX_KEY_LENGTH} characters.`,
  },
)

/**
 * Checks what the schema cannot express.
 * @throws ApiError 400 naming the parameter
 */
export function checkMetadata(param: string, metadata: Metadata | undefined): void {
  for (const key in metadata)
    if (key === '' || key.length > MAX_KEY_LENGTH)
      throw badParam(param, `Keys must have 1 to ${MAX_KEY_LENGTH} characters.`)
}
