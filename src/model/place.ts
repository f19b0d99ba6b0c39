import type { Metadata } from './metadata.ts'
import type { Settings } from './settings.ts'

/** A brand with several places. Chains with the same slug are one. */
export interface Chain {
  /** `burger-king`. */
  readonly slug: string
  readonly name: string
  /** Of its website, e.g. `bk.com`. */
  readonly domain: string | undefined
}

/** A chain as an environment sees it. */
export interface ShownChain {
  readonly name: string
  readonly slug: string
  readonly domain?: string
  /** The customer's own id. */
  readonly externalId?: string
  readonly metadata?: Metadata
}

/** @param settings of the environment that sees it */
export function shownChain(
  { slug, name, domain }: Chain,
  { chainMappings, chainMetadata }: Pick<Settings, 'chainMappings' | 'chainMetadata'>,
): ShownChain {
  return {
    name,
    slug,
    ...(domain !== undefined && { domain }),
    ...(Object.hasOwn(chainMappings, slug) && { externalId: chainMappings[slug]! }),
    ...(Object.hasOwn(chainMetadata, slug) && { metadata: chainMetadata[slug]! }),
  }
}
