import type { PropertyType } from '../records/records.ts'

/** An address of the United States or Canada that is to be checked. */
export interface ValidationQuestion {
  readonly countryCode: 'US' | 'CA'
  /** Two letters. */
  readonly stateCode: string
  readonly postalCode: string
  readonly city: string
  /** The first line: number, street and unit. */
  readonly firstLine: string
  /** The unit, if it is not in the first line. */
  readonly unit: string | undefined
}

/** The results, from the best to the worst. */
export const VERIFICATION_STATUSES = ['verified', 'partially verified', 'ambiguous', 'unverified'] as const

export type VerificationStatus = (typeof VERIFICATION_STATUSES)[number]

/**
 * The postal services' types of addresses: street, box at a post office, rural route, high-rise, firm, general
 * delivery.
 */
export const RECORD_TYPES = ['S', 'P', 'R', 'H', 'F', 'G'] as const

export type RecordType = (typeof RECORD_TYPES)[number]

/** An address in capitals. Unknown parts are absent. */
export interface ValidatedAddress {
  readonly addressLabel: string
  readonly number?: string
  readonly street?: string
  readonly unit?: string
  readonly city: string
  readonly stateCode: string
  readonly postalCode: string
  readonly plus4?: string
  readonly county?: string
  readonly countryCode: string
  readonly formattedAddress: string
  readonly metadata: { readonly recordType: RecordType; readonly propertyType?: PropertyType }
}

export interface Validation {
  readonly address: ValidatedAddress
  readonly result: {
    readonly verificationStatus: VerificationStatus
    readonly analysis?: readonly ('unit:missing' | 'unit:invalid')[]
  }
}
