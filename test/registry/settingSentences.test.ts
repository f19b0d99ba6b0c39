/** The reference says of each setting what it does. */
import t from 'tap'
import { SettingsChange, SettingsRecord } from '../../src/registry/settings/settingsSchema.ts'

t.test('every setting has a sentence, in the record and in a change', async (t) => {
  for (const [what, { properties }] of Object.entries({ SettingsRecord, SettingsChange })) {
    const settings = Object.entries(properties as Record<string, { readonly description?: string }>)
    t.ok(settings.length > 20, what)
    for (const [name, { description = '' }] of settings) t.match(description, /\w.*\w/, `${what} ${name}`)
  }
})
