import type { Clock } from '../../runtime/clock.ts'
import { currentAuthor, type Author } from '../store/author.ts'
import type { Change, EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import { boundedValue } from './boundedValue.ts'
import { auditId, type AuditActor, type AuditDetail, type AuditRow } from './auditRows.ts'

/** A row as the audit shows it: without secrets, and as a client would send it to make it again. */
export interface Described {
  readonly project: number
  readonly live?: boolean | undefined
  /** Identifies the record for people and in filters. */
  readonly target: string
  readonly value: Readonly<Record<string, unknown>>
  /** A secret that is not shown. If it is replaced, `after` has a member `…Changed`, such as `passwordChanged`. */
  readonly secret?: { readonly name: string; readonly text: string } | undefined
  /** The actor, if it is not the author. Somebody who signs in is nobody before that. */
  readonly actor?: AuditActor | undefined
}

/** How the rows of one kind are shown. */
export interface AuditedKind {
  /** The first part of actions, such as `geofence`. */
  readonly singular: string
  /** @param record of the row, if it is known already; see {@link Change.record} */
  describe(row: object, record?: unknown): Described | undefined
  /** The environment of a row, if it can be told without describing the row. */
  place?(row: object): Pick<Described, 'project' | 'live'>
  /** The content that counts as long as there is no row. If absent, there is none. */
  readonly initial?: Readonly<Record<string, unknown>>
  /** Whether only its creation and removal are entered. */
  readonly isFixed?: boolean
}

/** A commit with more changes counts as one of many, such as an import makes; see {@link auditId}. */
const MOST_SINGLE = 50
/**
 * Several changes of longer rows become one entry, with what was changed but without the values: to describe each of
 * them before and after, as text, would take milliseconds for each polygon of an import.
 */
const MOST_CHARACTERS = 128 * 1024

/**
 * Enters each edit in the audit, in the same commit, so that neither exists without the other.
 *
 * The obvious way has each route write its entry, and the next route forgets it. Here, everything that changes the
 * registry passes through this class.
 */
export class AuditedEdits implements EditLog {
  readonly #edits: EditLog
  readonly #replica: RegistryReplica
  readonly #kinds: ReadonlyMap<string, AuditedKind>
  readonly #clock: Clock
  /** How many entries were made. */
  #entries = 0

  constructor(
    edits: EditLog,
    replica: RegistryReplica,
    kinds: ReadonlyMap<string, AuditedKind>,
    clock: Clock,
  ) {
    this.#edits = edits
    this.#replica = replica
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

  /**
   * Enters something that changes no row of the registry, within an edit.
   * @returns the key of the entry
   */
  note(entry: Omit<AuditRow, 'id' | 'actor' | 'detail'> & { readonly live: boolean }): string {
    const change = this.#put(currentAuthor(), entry.project, entry.action, entry.target, entry)
    this.#edits.commit([change])
    return change.key
  }

  /** Takes back a {@link note} about something that was not done, within an edit. */
  takeBack(key: string): void {
    this.#edits.commit([{ kind: 'audit', key, row: undefined }])
  }

  #entriesOf(changes: readonly Change[]): Change[] {
    const audited = changes.filter(({ kind }) => this.#kinds.has(kind))
    if (audited.length === 0) return []
    const author = currentAuthor()
    if (audited.length > 1 && areLong(audited)) return this.#summary(author, audited)
    const isOfMany = audited.length > MOST_SINGLE
    return audited.flatMap((change) => this.#entryOf(author, change, isOfMany) ?? [])
  }

  #entryOf(author: Author, { kind, key, row, record }: Change, isOfMany: boolean): Change | undefined {
    const { singular, describe, isFixed, initial } = this.#kinds.get(kind)!
    const old = this.#replica.rowOf(kind, key)
    if (isFixed === true && old !== undefined && row !== undefined) return undefined
    const before = old && describe(old)
    const after = row && describe(row, record)
    const known = after ?? before
    if (known === undefined) return undefined
    const valueBefore = before?.value ?? initial
    const valueAfter = withChangedSecret(before, after) ?? after?.value ?? initial
    const [jsonBefore, jsonAfter] = [JSON.stringify(valueBefore), JSON.stringify(valueAfter)]
    if (jsonBefore === jsonAfter) return undefined
    const keptBefore = valueBefore && boundedValue(valueBefore, jsonBefore)
    const keptAfter = valueAfter && boundedValue(valueAfter, jsonAfter)
    const leftOut = [
      ...(keptBefore?.leftOut ?? []).map((name) => `before.${name}`),
      ...(keptAfter?.leftOut ?? []).map((name) => `after.${name}`),
    ]
    const done = valueBefore === undefined ? 'created' : valueAfter === undefined ? 'deleted' : 'changed'
    return this.#put(author, known.project, `${singular}.${done}`, known.target, {
      live: known.live,
      before: keptBefore?.json,
      after: keptAfter?.json,
      leftOut: leftOut.length === 0 ? undefined : leftOut,
      actor: before === undefined ? after?.actor : undefined,
      isOfMany,
    })
  }

  /** For many changes, one entry for each project and kind that lists them. */
  #summary(author: Author, changes: readonly Change[]): Change[] {
    const groups = new Map<
      string,
      { known: Pick<Described, 'project' | 'live'>; singular: string; keys: string[] }
    >()
    for (const { kind, key, row } of changes) {
      const { singular, describe, place = describe } = this.#kinds.get(kind)!
      const shown = row ?? this.#replica.rowOf(kind, key)
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
        after: JSON.stringify({ count: keys.length, ids: keys }),
        isOfMany: true,
      }),
    )
  }

  #put(
    author: Author,
    project: number,
    action: string,
    target: string,
    rest: Pick<AuditDetail, 'live' | 'leftOut'> & {
      readonly actor?: AuditActor | undefined
      /** The value before and the one after, as JSON. */
      readonly before?: string | undefined
      readonly after?: string | undefined
      readonly isOfMany?: boolean
    },
  ): Change {
    author.hasEntered = true
    const { kind, id: actorId, label, ip, requestId } = author
    const { live, before = '', after = '', leftOut, actor = { kind, id: actorId, label } } = rest
    const known: AuditDetail = { actor, ip, requestId, live, leftOut }
    // The values may be long texts, which are not written again.
    const values = (before && `,"before":${before}`) + (after && `,"after":${after}`)
    const detail = `${JSON.stringify(known).slice(0, -1)}${values}}`
    const id = auditId(this.#clock.now(), this.#entries++, rest.isOfMany === true)
    const row: AuditRow = { id, project, actor: actor.id, action, target, detail }
    return { kind: 'audit', key: `${project}.${id}`, row }
  }
}

/** The value afterwards, if the secret of a row was replaced. */
function withChangedSecret(before: Described | undefined, after: Described | undefined) {
  if (before?.secret === undefined || after?.secret === undefined) return undefined
  if (before.secret.text === after.secret.text) return undefined
  return { ...after.value, [`${after.secret.name}Changed`]: true }
}

/** Whether the texts of the rows are long together. */
function areLong(changes: readonly Change[]): boolean {
  let characters = 0
  for (const { row = {} } of changes)
    for (const value of Object.values(row)) if (typeof value === 'string') characters += value.length
  return characters > MOST_CHARACTERS
}
