import type { Clock } from '../../runtime/clock.ts'
import { currentAuthor, type Author } from '../store/author.ts'
import type { Change, EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import { auditId, type AuditActor, type AuditDetail, type AuditRow } from './auditRows.ts'

/** A row as the audit shows it: no secrets, and what a client would send to make it so again. */
export interface Described {
  readonly project: number
  readonly live?: boolean | undefined
  /** Identifies the record for people and in filters. */
  readonly target: string
  readonly value: Readonly<Record<string, unknown>>
  /** Instead of the author: somebody who signs in is nobody before. */
  readonly actor?: AuditActor | undefined
}

/** How the rows of one kind are shown. */
export interface AuditedKind {
  /** `geofence`: the first part of actions. */
  readonly singular: string
  describe(row: object): Described | undefined
  /** Where the row belongs, where that is known without describing it. */
  place?(row: object): Pick<Described, 'project' | 'live'>
  /** What holds as long as there is no row; absent: nothing. */
  readonly initial?: Readonly<Record<string, unknown>>
  /** Only that it comes and goes is entered. */
  readonly isFixed?: boolean
}

/** More changes at once become one entry, with what was changed but without the values. */
const MOST_SINGLE = 50
/**
 * So do several changes of longer rows: to describe each of them before and after, as text, would take milliseconds
 * for each polygon of an import.
 */
const MOST_CHARACTERS = 128 * 1024

/**
 * Enters each edit in the audit, in the same commit: neither is there without the other.
 *
 * The obvious way has each route write its entry, and the next route forgets it. Whatever changes the registry goes through
 * here.
 */
export class AuditedEdits implements EditLog {
  readonly #edits: EditLog
  readonly #image: RegistryReplica
  readonly #kinds: ReadonlyMap<string, AuditedKind>
  readonly #clock: Clock

  constructor(edits: EditLog, image: RegistryReplica, kinds: ReadonlyMap<string, AuditedKind>, clock: Clock) {
    this.#edits = edits
    this.#image = image
    this.#kinds = kinds
    this.#clock = clock
  }

  get isShared(): boolean {
    return this.#edits.isShared
  }

  get health(): EditLog['health'] {
    return this.#edits.health
  }

  edit<T>(work: () => T): Promise<T> {
    return this.#edits.edit(work)
  }

  commit(changes: readonly Change[]): void {
    this.#edits.commit([...changes, ...this.#entriesOf(changes)])
  }

  close(): void {
    this.#edits.close()
  }

  /** Enters something that changes no row of the registry, within an edit. */
  note(entry: Omit<AuditRow, 'id' | 'actor' | 'detail'> & { readonly live: boolean }): void {
    this.#edits.commit([this.#put(currentAuthor(), entry.project, entry.action, entry.target, entry)])
  }

  #entriesOf(changes: readonly Change[]): Change[] {
    const audited = changes.filter(({ kind }) => this.#kinds.has(kind))
    if (audited.length === 0) return []
    const author = currentAuthor()
    if (audited.length > MOST_SINGLE || (audited.length > 1 && areLong(audited)))
      return this.#summary(author, audited)
    return audited.flatMap((change) => this.#entryOf(author, change) ?? [])
  }

  #entryOf(author: Author, { kind, key, row }: Change): Change | undefined {
    const { singular, describe, isFixed, initial } = this.#kinds.get(kind)!
    const old = this.#image.rowOf(kind, key)
    if (isFixed === true && old !== undefined && row !== undefined) return undefined
    const before = old && describe(old)
    const after = row && describe(row)
    const known = after ?? before
    if (known === undefined) return undefined
    const [valueBefore, valueAfter] = [before?.value ?? initial, after?.value ?? initial]
    if (JSON.stringify(valueBefore) === JSON.stringify(valueAfter)) return undefined
    const done = valueBefore === undefined ? 'created' : valueAfter === undefined ? 'deleted' : 'changed'
    return this.#put(author, known.project, `${singular}.${done}`, known.target, {
      live: known.live,
      before: valueBefore,
      after: valueAfter,
      actor: before === undefined ? after?.actor : undefined,
    })
  }

  /** For each project and kind of many changes, which they were. */
  #summary(author: Author, changes: readonly Change[]): Change[] {
    const groups = new Map<
      string,
      { known: Pick<Described, 'project' | 'live'>; singular: string; keys: string[] }
    >()
    for (const { kind, key, row } of changes) {
      const { singular, describe, place = describe } = this.#kinds.get(kind)!
      const shown = row ?? this.#image.rowOf(kind, key)
      const known = shown && place(shown)
      if (known === undefined) continue
      const name = `${singular} ${known.project} ${known.live}`
      const group = groups.get(name) ?? { known, singular, keys: [] }
      groups.set(name, group)
      group.keys.push(key.slice(key.indexOf('.') + 1))
    }
    return [...groups.values()].map(({ known, singular, keys }) =>
      this.#put(author, known.project, `${singular}.changedMany`, '', {
        live: known.live,
        after: { count: keys.length, ids: keys },
      }),
    )
  }

  #put(
    author: Author,
    project: number,
    action: string,
    target: string,
    rest: Omit<AuditDetail, 'actor'> & { readonly actor?: AuditActor | undefined },
  ): Change {
    author.hasEntered = true
    const { kind, id: actorId, label, ip, requestId } = author
    const { live, before, after, actor = { kind, id: actorId, label } } = rest
    const detail: AuditDetail = { actor, ip, requestId, live, before, after }
    const id = auditId(this.#clock.now())
    const row: AuditRow = { id, project, actor: actor.id, action, target, detail: JSON.stringify(detail) }
    return { kind: 'audit', key: `${project}.${id}`, row }
  }
}

/** Whether the rows have much text together. */
function areLong(changes: readonly Change[]): boolean {
  let characters = 0
  for (const { row = {} } of changes)
    for (const value of Object.values(row)) if (typeof value === 'string') characters += value.length
  return characters > MOST_CHARACTERS
}
