import type { Method } from './route.ts'

interface Node<T> {
  readonly children: Map<string, Node<T>>
  parameter: Node<T> | undefined
  readonly byMethod: Map<Method, Leaf<T>>
}

interface Leaf<T> {
  readonly value: T
  readonly accepts: AcceptsSegments | undefined
}

/** A route whose parameter may contain slashes. */
interface WideRoute<T> {
  readonly method: Method
  readonly value: T
  /** The path before the parameter and the path after it. The latter is not empty. */
  readonly ends: readonly [before: string, behind: string]
}

/** Whether a path with these raw texts of its parameters belongs to the route; other routes get the rest. */
export type AcceptsSegments = (segments: readonly string[]) => boolean

/** The result for a path: a route with the raw texts of its parameters, or only the methods that the path supports. */
export type Match<T> =
  | { readonly value: T; readonly segments: readonly string[] }
  | { readonly value: undefined; readonly allowed: readonly Method[] }

/**
 * The route table as a tree of path segments. A fixed segment wins over a parameter. But a fixed segment without a
 * route for the method does not hide a parameter with one: `GET /a/:x/users` may exist beside `PUT /a/:x/:y`.
 */
export class Router<T> {
  readonly #root: Node<T> = newNode()
  readonly #wide: WideRoute<T>[] = []

  /**
   * Adds a route.
   * @param isWide whether the path's parameter may contain slashes; paths that another route has belong to that route
   * @throws Error if method and path are taken
   */
  add(method: Method, path: string, value: T, accepts?: AcceptsSegments, isWide = false): void {
    if (isWide) this.#wide.push({ method, value, ends: path.split(/:[^/]+/) as [string, string] })
    let node = this.#root
    for (const segment of segmentsOf(path)) {
      if (segment.startsWith(':')) {
        node = node.parameter ??= newNode()
      } else {
        let child = node.children.get(segment)
        if (child === undefined) node.children.set(segment, (child = newNode()))
        node = child
      }
    }
    if (node.byMethod.has(method)) throw new Error(`Two routes for ${method} ${path}.`)
    node.byMethod.set(method, { value, accepts })
  }

  /** Finds the route of a path; undefined if there is none. Escapes (`%20`) are left to the reader of the segments. */
  match(method: Method | undefined, path: string): Match<T> | undefined {
    const segments = segmentsOf(path)
    const parameters: string[] = []
    const allowed = new Set<Method>()
    const value = find(this.#root, segments, 0, method, parameters, allowed)
    if (value !== undefined) return { value, segments: parameters }
    for (const { method: of, value: wide, ends } of this.#wide) {
      const [before, behind] = ends
      if (path.length <= before.length + behind.length) continue
      if (!path.startsWith(before) || !path.endsWith(behind)) continue
      if (of === method) return { value: wide, segments: [path.slice(before.length, -behind.length)] }
      allowed.add(of)
    }
    return allowed.size > 0 ? { value: undefined, allowed: [...allowed] } : undefined
  }
}

function find<T>(
  node: Node<T>,
  segments: readonly string[],
  depth: number,
  method: Method | undefined,
  parameters: string[],
  allowed: Set<Method>,
): T | undefined {
  if (depth === segments.length) {
    const leaf = method === undefined ? undefined : node.byMethod.get(method)
    if (leaf === undefined) for (const known of node.byMethod.keys()) allowed.add(known)
    return leaf?.accepts?.(parameters) === false ? undefined : leaf?.value
  }
  const segment = segments[depth]!
  const child = node.children.get(segment) ?? node.children.get(unescaped(segment))
  if (child !== undefined) {
    const value = find(child, segments, depth + 1, method, parameters, allowed)
    if (value !== undefined) return value
  }
  if (node.parameter === undefined || segment === '') return undefined
  parameters.push(segment)
  const value = find(node.parameter, segments, depth + 1, method, parameters, allowed)
  if (value === undefined) parameters.pop()
  return value
}

function newNode<T>(): Node<T> {
  return { children: new Map(), parameter: undefined, byMethod: new Map() }
}

function segmentsOf(path: string): string[] {
  return path.slice(1).split('/')
}

/**
 * The decoded text of a segment, because a fixed segment may be written with escapes. A segment with an invalid escape
 * is not a fixed one.
 */
function unescaped(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
