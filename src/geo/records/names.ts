/** Names in OpenStreetMap have at most 255 characters. Other data may contain longer ones. */
const MAX_NAME_LENGTH = 255

/** What a shown name does not have: control characters, `<`, `>`, and spaces other than single ones between words. */
const UNSHOWN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}<>]|[^\S ]| {2}|^ | $/u

/**
 * A name as it may be shown: without control characters, `<` and `>`, with single spaces, at most 255 characters.
 * @returns undefined if nothing is left
 */
export function cleanName(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined
  if (text.length <= MAX_NAME_LENGTH && !UNSHOWN.test(text)) return text
  const clean = text
    .slice(0, 2 * MAX_NAME_LENGTH)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}<>]/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_NAME_LENGTH)
  return clean === '' ? undefined : clean
}

/** The languages in which answers name countries, regions and places. */
export const LANGUAGES = ['ar', 'de', 'en', 'es', 'fr', 'ja', 'ko', 'pt', 'ru', 'zh'] as const

export type Language = (typeof LANGUAGES)[number]

/** The names of an object in the languages of answers that differ from its own name. */
export function namesByLanguage(tags: ReadonlyMap<string, string>, own: string): Map<Language, string> {
  const names = new Map<Language, string>()
  for (const language of LANGUAGES) {
    const name = cleanName(tags.get(`name:${language}`))
    if (name !== undefined && name !== own) names.set(language, name)
  }
  return names
}
