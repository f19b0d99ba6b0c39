/** What waits for its turn. */
export interface Waiting {
  /** What its turn costs. */
  readonly bytes: number
}

/** Bytes that a flow may have in each round. */
const QUANTUM = 64 * 1024

/** Those who take turns, the next one first: keys, or the flows of a key. */
interface Member {
  /** How many wait. */
  readonly count: number
  /** Bytes that it may have before the next one's turn; below 0: it has had more, and waits for rounds. */
  credit: number
}

class Flow<W extends Waiting> implements Member {
  credit = 0
  /** Those before `first` have had their turn. */
  items: W[] = []
  first = 0

  get count(): number {
    return this.items.length - this.first
  }
}

class Key<O, W extends Waiting> implements Member {
  count = 0
  credit = 0
  readonly flows = new Map<O, Flow<W>>()
}

/**
 * Takes from many queues so that each has an equal share, whatever it is made of: first the keys, then the flows of each key
 * (deficit round robin, Shreedhar and Varghese 1995, twice; here a flow may overdraw its credit, and sits out for it).
 *
 * So whoever asks for less than its share waits for one round of the others at most: a quantum and a message of each.
 */
export class FairQueue<O, W extends Waiting> {
  readonly #keys = new Map<string, Key<O, W>>()
  #count = 0

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Behind all that waits in the flow of this owner. */
  push(key: string, owner: O, item: W): void {
    let ofKey = this.#keys.get(key)
    if (ofKey === undefined) this.#keys.set(key, (ofKey = new Key()))
    let flow = ofKey.flows.get(owner)
    if (flow === undefined) ofKey.flows.set(owner, (flow = new Flow()))
    flow.items.push(item)
    ofKey.count++
    this.#count++
  }

  /** Takes out what is next, and whose it is; undefined where nothing waits. */
  next(): { readonly owner: O; readonly item: W } | undefined {
    if (this.#count === 0) return undefined
    const [, key] = nextOf(this.#keys)
    const [owner, flow] = nextOf(key.flows)
    const item = flow.items[flow.first++]!
    if (flow.first * 2 > flow.items.length) {
      flow.items = flow.items.slice(flow.first)
      flow.first = 0
    }
    key.credit -= item.bytes
    flow.credit -= item.bytes
    key.count--
    // What anybody has had too much is held against him as long as others wait.
    if (--this.#count === 0) this.#keys.clear()
    return { owner, item }
  }

  /** Forgets what waits in the flow of this owner. */
  remove(key: string, owner: O): void {
    const ofKey = this.#keys.get(key)
    const flow = ofKey?.flows.get(owner)
    if (flow === undefined) return
    ofKey!.flows.delete(owner)
    ofKey!.count -= flow.count
    this.#count -= flow.count
    if (this.#count === 0) this.#keys.clear()
  }
}

/**
 * The first that has something and credit for it; those before it get their quantum, and go behind all others. Who has
 * nothing, and nothing to make up for, is forgotten.
 */
function nextOf<K, M extends Member>(members: Map<K, M>): readonly [K, M] {
  for (;;) {
    const [first] = members
    const [name, member] = first!
    if (member.credit > 0 && member.count > 0) return first!
    member.credit += QUANTUM
    if (members.size === 1) continue
    members.delete(name)
    if (member.count > 0 || member.credit <= 0) members.set(name, member)
  }
}
