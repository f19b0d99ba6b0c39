/** An item that waits for its turn. */
export interface Waiting {
  /** How much its flow uses of a round. */
  readonly bytes: number
}

/** How many bytes a flow may use in each round. */
const QUANTUM_BYTES = 64 * 1024

/** A participant in the rounds: a key, or a flow of a key. */
interface Member {
  /** How many of its items wait. */
  readonly count: number
  /** How many bytes it may use in this round. Below 0, it has used more, and must sit out rounds. */
  credit: number
}

class Flow<W extends Waiting> implements Member {
  credit = 0
  /** Items before `first` have had their turn. */
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
 * Takes from many queues so that each gets an equal share of bytes, first among the keys, then among the flows of
 * each key: deficit round robin (Shreedhar and Varghese 1995) at both levels. Unlike there, a flow may overdraw its
 * credit and then sits out rounds.
 *
 * So a flow that uses less than its share waits at most for one round of the others: a quantum and a message of each.
 */
export class FairQueue<O, W extends Waiting> {
  readonly #keys = new Map<string, Key<O, W>>()
  #count = 0

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Appends the item to the owner's flow. */
  push(key: string, owner: O, item: W): void {
    let ofKey = this.#keys.get(key)
    if (ofKey === undefined) this.#keys.set(key, (ofKey = new Key()))
    let flow = ofKey.flows.get(owner)
    if (flow === undefined) ofKey.flows.set(owner, (flow = new Flow()))
    flow.items.push(item)
    ofKey.count++
    this.#count++
  }

  /** Removes the next item and returns it with its owner; undefined if nothing waits. */
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
    // Overdrawn credit is remembered only while others wait.
    if (--this.#count === 0) this.#keys.clear()
    return { owner, item }
  }

  /** Drops the waiting items of the owner's flow. */
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
 * The first member that has items and credit. Members before it get a quantum and move to the end. A member without
 * items and without overdrawn credit is dropped.
 */
function nextOf<K, M extends Member>(members: Map<K, M>): readonly [K, M] {
  for (;;) {
    const [first] = members
    const [name, member] = first!
    if (member.credit > 0 && member.count > 0) return first!
    member.credit += QUANTUM_BYTES
    if (members.size === 1) continue
    members.delete(name)
    if (member.count > 0 || member.credit <= 0) members.set(name, member)
  }
}
