import type { Change } from '../../registry/store/editLog.ts'
import type { RegistryReplica } from '../../registry/store/replica.ts'
import type { KeptEntry } from './editStream.ts'
import { type EntryCodec, EntryUnreadable } from './entryCodec.ts'

/** What the entries of the edit stream mean for a replica. */

/** Called for an entry that this program cannot read. */
type Unreadable = (entry: string, reason: string) => void

/** An entry that was received and read. */
export interface ReceivedEntry extends Pick<KeptEntry, 'name' | 'sequence'> {
  /** Undefined for entries that are no change. */
  readonly content: Change | EntryUnreadable | undefined
}

/** Reads an entry. */
export function receivedEntry(codec: EntryCodec, entry: KeptEntry): ReceivedEntry {
  const { name, sequence } = entry
  if (OF_THE_FILLING.has(name)) return { name, sequence, content: undefined }
  try {
    return { name, sequence, content: codec.changeOf(entry) }
  } catch (error) {
    if (!(error instanceof EntryUnreadable)) throw error
    return { name, sequence, content: error }
  }
}

/**
 * The changes in the entries. An entry that cannot be understood removes the record with its name, in every process
 * alike, and is remembered until another entry has the name.
 */
export function readChanges(
  replica: RegistryReplica,
  codec: EntryCodec,
  entries: readonly KeptEntry[],
  unreadable: Unreadable,
): Change[] {
  const received = entries.map((entry) => receivedEntry(codec, entry))
  return changesIn(replica, codec, received, unreadable)
}

/** The same as {@link readChanges}, for entries that have been read. */
export function changesIn(
  replica: RegistryReplica,
  codec: EntryCodec,
  received: readonly ReceivedEntry[],
  unreadable: Unreadable,
): Change[] {
  const changes: Change[] = []
  for (const { name, content } of received) {
    if (content === undefined) continue
    if (content instanceof EntryUnreadable) {
      replica.unreadable.add(name, content.message)
      unreadable(name, content.message)
      const removal = removalOf(codec, name)
      if (removal !== undefined) changes.push(removal)
    } else {
      changes.push(content)
      replica.unreadable.remove(name)
    }
  }
  return changes
}

/**
 * The names of two special entries: the one that says which registry it is, written once the registry is complete, and
 * the one that says which process is filling it.
 */
export const ORIGIN = 'origin'
export const FILLING = 'filling'
export const OF_THE_FILLING: ReadonlySet<string> = new Set([ORIGIN, FILLING])

/**
 * Orders changes of which some are missing because later ones have replaced them, so that their own order means
 * nothing. First, every record that they change is given a pair that conflicts with no other. Then new records come in
 * the order of creation. A record that changed in the meantime has several changes, and only the last one counts: a
 * removal, which has no time of creation, must not come before what it removes.
 */
export function inAnyOrder(replica: RegistryReplica, changes: readonly Change[]): Change[] {
  const createdAt = ({ row }: Change): number => (row as { createdAt?: number } | undefined)?.createdAt ?? 0
  const last = [...new Map(changes.map((change) => [`${change.kind}.${change.key}`, change])).values()]
  const sorted = last.toSorted((a, b) => createdAt(a) - createdAt(b) || (a.key < b.key ? -1 : 1))
  return [...last.flatMap((change) => replica.displaced(change) ?? []), ...sorted]
}

function removalOf(codec: EntryCodec, name: string): Change | undefined {
  try {
    return codec.changeOf({ name, value: undefined })
  } catch {
    return undefined
  }
}
