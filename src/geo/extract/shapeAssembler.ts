/**
 * Puts the objects of an extract together: ways with the positions of their nodes, relations with the rings of their
 * ways. It receives the objects in the order of the file, and passes those with tags to all products, so that the file
 * is read once for all of them.
 */
import type { Position } from '../../model/geofence.ts'
import { joinRings, type Rings } from '../records/areas.ts'
import type { Tags } from '../records/tags.ts'
import { NodeStore } from './nodeStore.ts'
import type { RelationMember, ObjectSink } from './osmReader.ts'

/** A way as far as the extract has its nodes. */
export interface ShapedWay {
  readonly id: number
  readonly tags: Tags
  /** The ids of those of its nodes that the extract has. There is at least one. */
  readonly nodes: readonly number[]
  /** The positions of those nodes. */
  readonly line: readonly Position[]
  /** Whether it is a ring that the extract has completely. */
  readonly isRing: boolean
}

/** Receives every object with tags. */
export interface ShapeSink {
  node(id: number, position: Position, tags: Tags): void
  way(way: ShapedWay): void
  /**
   * Called for an area of several ways.
   * @param outer its complete rings, at least one
   * @param inner the rings of its holes
   */
  relation(id: number, tags: Tags, outer: Rings, inner: Rings): void
}

/** A product that is being made. */
export interface Product {
  readonly sink: ShapeSink
  /** Completes the product after the whole file was read. */
  finish(shapes: ShapeAssembler): void
  /** Closes its files, whatever state they are in. */
  abandon(): void
}

export class ShapeAssembler implements ObjectSink {
  readonly #sinks: readonly ShapeSink[]
  readonly #members: ReadonlySet<number>
  readonly #nodes = new NodeStore()
  /** The lines of ways that belong to relations. */
  readonly #lines = new Map<number, readonly Position[]>()

  /**
   * Starts without objects.
   * @param members the ids of the ways of relations that are used
   */
  constructor(sinks: readonly ShapeSink[], members: ReadonlySet<number>) {
    this.#sinks = sinks
    this.#members = members
  }

  /** The position of a node; undefined if the extract does not have it. */
  positionOf(node: number): Position | undefined {
    return this.#nodes.positionOf(node)
  }

  node(id: number, longitude: number, latitude: number, tags: Tags | undefined): void {
    this.#nodes.add(id, longitude, latitude)
    if (tags !== undefined) for (const sink of this.#sinks) sink.node(id, [longitude, latitude], tags)
  }

  way(id: number, nodes: readonly number[], tags: Tags): void {
    const isMember = this.#members.has(id)
    if (tags.size === 0 && !isMember) return
    const line: Position[] = []
    const found: number[] = []
    for (const node of nodes) {
      const position = this.#nodes.positionOf(node)
      if (position === undefined) continue
      line.push(position)
      found.push(node)
    }
    if (line.length === 0) return
    if (isMember) this.#lines.set(id, line)
    const isRing = line.length > 3 && found.length === nodes.length && nodes[0] === nodes.at(-1)
    if (tags.size > 0) for (const sink of this.#sinks) sink.way({ id, tags, nodes: found, line, isRing })
  }

  relation(id: number, members: readonly RelationMember[], tags: Tags): void {
    const type = tags.get('type')
    if (type !== 'multipolygon' && type !== 'boundary') return
    const linesOf = (isInner: boolean): (readonly Position[])[] =>
      members
        .filter((member) => member.type === 'way' && (member.role === 'inner') === isInner)
        .map((member) => this.#lines.get(member.id))
        .filter((line) => line !== undefined)
    const outer = joinRings(linesOf(false))
    if (outer.length === 0) return
    const inner = joinRings(linesOf(true))
    for (const sink of this.#sinks) sink.relation(id, tags, outer, inner)
  }
}
