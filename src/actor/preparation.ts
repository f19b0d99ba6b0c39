import { geofenceText } from '../events/record.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import { Unfetched } from '../rules/atlas.ts'
import { measureElsewhere, Unmeasured } from '../rules/measured.ts'
import type { RegistryView } from '../rules/port.ts'
import { Unread } from '../rules/unread.ts'
import type { Unready } from '../rules/unready.ts'
import { Slice } from '../runtime/slices.ts'
import type { TextCache } from '../runtime/textCache.ts'
import type { Measurer } from '../spatial/port.ts'
import { readInTurns } from '../spatial/readInTurns.ts'
import type { UpdateMail } from './mailboxes.ts'
import { MAX_EVENT_CHARACTERS, Unwritten } from './refusal.ts'

export interface PreparationParts {
  readonly registry: RegistryView
  /** Measures geometry in place of the main thread if an update needs much of it. */
  readonly measurer?: Measurer | undefined
}

/**
 * Does work for an update that would take long in its batch, elsewhere or in turns with others. The batch continues
 * without it.
 */
export async function prepareUpdate(
  mail: UpdateMail,
  missing: Unready,
  { registry, measurer }: PreparationParts,
  texts: TextCache<GeofenceProperties>,
): Promise<void> {
  if (missing instanceof Unwritten) {
    mail.textLengths = await writeTexts(mail, missing, registry, texts)
  } else if (missing instanceof Unmeasured) mail.measured = await measureElsewhere(measurer!, missing)
  else if (missing instanceof Unread) {
    await readInTurns(registry.scope(mail.update.scope).index, missing.slots)
    mail.isRead = true
  } else if (missing instanceof Unfetched) await missing.fetch()
}

/** Looking at so many texts that are kept takes a fraction of a millisecond. */
const MANY_KNOWN = 512

/**
 * Writes the texts of geofences that are not kept. Together they may be more than is kept, so some may have to be written again
 * after the update is evaluated; for that, only their lengths must be known.
 */
async function writeTexts(
  { update }: UpdateMail,
  { geofences }: Unwritten,
  registry: RegistryView,
  texts: TextCache<GeofenceProperties>,
): Promise<ReadonlyMap<string, number>> {
  const lengths = new Map<string, number>()
  let characters = 0
  const slice = new Slice()
  await slice.next()
  for (const [i, geofence] of geofences.entries()) {
    // The update will be refused.
    if (characters > MAX_EVENT_CHARACTERS) break
    let text = texts.find(geofence)
    if ((text === undefined || i % MANY_KNOWN === MANY_KNOWN - 1) && slice.isOver) await slice.next()
    if (text === undefined) {
      const { index } = registry.scope(update.scope)
      const slot = index.slotOf(geofence.id)
      // If a geofence was edited in the meantime, it is evaluated as it is then.
      if (slot < 0 || index.geofence(slot) !== geofence) continue
      text = texts.get(geofence, () => geofenceText(geofence, index.outline(slot)))
    }
    lengths.set(geofence.id, text.length)
    characters += text.length
  }
  return lengths
}
