import { ApiError } from './errors.ts'

/** The code of a location in a country from which nothing is accepted. */
export const COUNTRY_BARRED_CODE = 451

export function countryBarred(): ApiError {
  return new ApiError(
    COUNTRY_BARRED_CODE,
    'Locations in this country are not accepted (blockedCountries, allowedCountries).',
  )
}

/** The error while it is not known in which country a location lies, and only some countries are accepted. */
export function countryUnknown(): ApiError {
  return new ApiError(503, 'The country of this location is not known at the moment. Try again.', {
    retryAfter: 10,
  })
}
