import type { ExtractBlock, ExtractParts } from './extractParts.ts'
import type { OsmObject } from './osmPbfObjects.ts'

/** An object that the routing engine's builder cannot read, and how the builder ended on it. */
export interface RefusedObject {
  readonly object: OsmObject
  readonly failure: Error
}

/** Runs the builder with some blocks. Returns the error that it fails with, or undefined if it reads all of them. */
export type BuildAttempt = (blocks: readonly ExtractBlock[]) => Promise<Error | undefined>

/** There are more refused objects than the search looks for. */
export class TooManyRefused extends Error {
  override name = 'TooManyRefused'
  readonly last: RefusedObject

  constructor(last: RefusedObject) {
    super(`There are too many objects like ${last.object.type} ${last.object.id}.`)
    this.last = last
  }
}

/**
 * Finds the objects on which the builder fails without naming them. It tries halves of the blocks, then halves of
 * those halves that fail again, and then halves of a block's objects. As the halves get smaller, each object that is
 * found costs about as much as reading all blocks twice.
 * @param blocks blocks on which the builder failed
 * @param suspects the kinds of objects to search; all others are in each attempt
 * @param most if there are more, it throws {@link TooManyRefused}
 * @returns the objects, and the blocks without them
 * @throws the errors of attempt
 */
export async function findRefused(
  parts: ExtractParts,
  blocks: readonly ExtractBlock[],
  suspects: ReadonlySet<OsmObject['type']>,
  attempt: BuildAttempt,
  most: number,
): Promise<{ refused: RefusedObject[]; blocks: readonly ExtractBlock[] }> {
  const refused: RefusedObject[] = []
  const changed = new Map<ExtractBlock, ExtractBlock>()
  const isSuspect = ({ types }: ExtractBlock): boolean => !types.isDisjointFrom(suspects)
  /** Runs an attempt with some of the searched blocks and all other blocks, in the file's order. */
  const among = (some: readonly ExtractBlock[]): Promise<Error | undefined> => {
    const byStart = new Map(some.map((block) => [block.start, block]))
    const chosen = blocks.map((block) => byStart.get(block.start) ?? (isSuspect(block) ? undefined : block))
    return attempt(chosen.filter((block) => block !== undefined))
  }
  await search(blocks.filter(isSuspect), among, async (block) => {
    const objects = await parts.objects(block)
    const places = [...(block.kept ?? objects.keys())]
    const [searched, others] = [true, false].map((is) =>
      places.filter((place) => suspects.has(objects[place]!.type) === is),
    ) as [number[], number[]]
    const left = new Set(places)
    const some = (kept: readonly number[]): Promise<Error | undefined> =>
      among([{ ...block, kept: new Set([...others, ...kept]) }])
    // If all of its objects together can be read, the cause was a text that none of them uses.
    if ((await some(searched)) !== undefined) {
      await search(searched, some, async (place, failure) => {
        const one = { object: objects[place]!, failure }
        if (refused.length === most) throw new TooManyRefused(one)
        refused.push(one)
        left.delete(place)
      })
    }
    changed.set(block, { ...block, kept: left })
  })
  return { refused, blocks: blocks.map((block) => changed.get(block) ?? block) }
}

/**
 * Calls `found` for each item that makes the attempt fail alone.
 * @param items items with which it failed
 */
async function search<Item>(
  items: readonly Item[],
  attempt: (items: readonly Item[]) => Promise<Error | undefined>,
  found: (item: Item, failure: Error) => Promise<void>,
): Promise<boolean> {
  if (items.length < 2) {
    const failure = items.length === 0 ? undefined : await attempt(items)
    if (failure !== undefined) await found(items[0]!, failure)
    return failure !== undefined
  }
  const middle = items.length >> 1
  let isFound = false
  for (const half of [items.slice(0, middle), items.slice(middle)]) {
    // A single item is tried once, below. If the first half was not at fault, the second one must be.
    const mustBe = half.length === 1 || (half[0] === items[middle] && !isFound)
    if (!mustBe && (await attempt(half)) === undefined) continue
    if (await search(half, attempt, found)) isFound = true
  }
  return isFound
}
