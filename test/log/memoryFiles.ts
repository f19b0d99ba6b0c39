import type { Files } from '../../src/log/files.ts'

/** What a simulated machine throws once it is down. Nothing that was in progress reports a result afterwards. */
export class MachineDown extends Error {}

export type Call = keyof Files

interface Inode {
  /** The content that the system shows. */
  cached: Buffer
  /** The content on the disk. */
  durable: Buffer
  /** Numbers of the sectors that differ from the disk. */
  dirty: Set<number>
}

const SECTOR = 512

/**
 * A simulation of a disk with a page cache. A write reaches the disk sector by sector, in any order, at the latest
 * with a flush of its file; a name reaches it with a flush of its folder. After a failed flush the dirty sectors are
 * forgotten, as in Linux.
 */
export class MemoryFiles implements Files {
  /** Called before each call, with the number of earlier calls. It may throw, as the system would. */
  before: (call: Call, index: number) => void = () => {}
  /** Bytes of all files together. Beyond this, writes are short and then fail with ENOSPC. */
  capacityBytes = Infinity
  /** The next flush fails with EIO. */
  failFlush = false
  /** The share of a write that is done, 0 to 1, when `before` throws {@link MachineDown} at it. */
  tornShare = 0
  calls = 0
  #down = false
  #names = new Map<string, Inode>()
  #durableNames = new Map<string, Inode>()
  readonly #open = new Map<number, Inode | string>()
  #nextDescriptor = 3

  /** A disk with these files, all of them durable. */
  static of(files: ReadonlyMap<string, Uint8Array>): MemoryFiles {
    const memory = new MemoryFiles()
    for (const [path, bytes] of files) {
      memory.#names.set(path, {
        cached: Buffer.from(bytes),
        durable: Buffer.from(bytes),
        dirty: new Set(),
      })
    }
    memory.#durableNames = new Map(memory.#names)
    return memory
  }

  /** Copies of all files as the system shows them, which is what a killed process leaves behind. */
  contents(): Map<string, Buffer> {
    return new Map([...this.#names].map(([path, inode]) => [path, Buffer.from(inode.cached)]))
  }

  /** The process is killed, and the machine continues to run. */
  kill(): MemoryFiles {
    this.#down = true
    const next = new MemoryFiles()
    next.#names = new Map(this.#names)
    next.#durableNames = new Map(this.#durableNames)
    return next
  }

  /** The machine loses power. Any sector and any name that was not flushed is there or not. */
  losePower(random: () => number): MemoryFiles {
    this.#down = true
    const files = new Map<string, Uint8Array>()
    for (const path of new Set([...this.#names.keys(), ...this.#durableNames.keys()])) {
      const now = this.#names.get(path)
      const then = this.#durableNames.get(path)
      const inode = now === then || random() < 0.5 ? now : then
      if (inode !== undefined) files.set(path, survivors(inode, random))
    }
    return MemoryFiles.of(files)
  }

  #call(call: Call): void {
    if (this.#down) throw new Error('The machine is down.')
    this.before(call, this.calls++)
  }

  #inode(descriptor: number): Inode {
    const inode = this.#open.get(descriptor)
    if (inode === undefined || typeof inode === 'string') throw systemError('EBADF')
    return inode
  }

  open(path: string, flags: string): number {
    this.#call('open')
    let target: Inode | string | undefined = this.#names.get(path)
    if (target === undefined && [...this.#names.keys()].some((name) => name.startsWith(`${path}/`))) {
      target = path
    }
    if (target === undefined) {
      if (flags.startsWith('r')) throw systemError('ENOENT')
      target = { cached: Buffer.alloc(0), durable: Buffer.alloc(0), dirty: new Set() }
      this.#names.set(path, target)
    } else if (flags.startsWith('wx')) {
      throw systemError('EEXIST')
    } else if (flags.startsWith('w')) {
      resize(target as Inode, 0)
    }
    this.#open.set(this.#nextDescriptor, target)
    return this.#nextDescriptor++
  }

  close(descriptor: number): void {
    this.#call('close')
    if (!this.#open.delete(descriptor)) throw systemError('EBADF')
  }

  /** Number of descriptors that were not closed. */
  get openDescriptors(): number {
    return this.#open.size
  }

  read(descriptor: number, into: Uint8Array, length: number, position: number): number {
    this.#call('read')
    const bytes = this.#inode(descriptor).cached.subarray(position, position + length)
    into.set(bytes)
    return bytes.length
  }

  write(descriptor: number, from: Uint8Array, offset: number, length: number, position: number): number {
    const inode = this.#inode(descriptor)
    try {
      this.#call('write')
    } catch (error) {
      const done = error instanceof MachineDown ? Math.floor(length * this.tornShare) : 0
      put(inode, from.subarray(offset, offset + done), position)
      throw error
    }
    let used = 0
    for (const { cached } of this.#names.values()) used += cached.length
    const room = this.capacityBytes - used + Math.max(0, inode.cached.length - position)
    const count = Math.min(length, Math.max(0, room))
    if (count === 0 && length > 0) throw systemError('ENOSPC')
    put(inode, from.subarray(offset, offset + count), position)
    return count
  }

  size(descriptor: number): number {
    this.#call('size')
    return this.#inode(descriptor).cached.length
  }

  truncate(descriptor: number, length: number): void {
    this.#call('truncate')
    resize(this.#inode(descriptor), length)
  }

  syncBlocking(descriptor: number): void {
    this.#call('syncBlocking')
    this.#flush(descriptor)
  }

  sync(descriptor: number, done: (error: Error | null) => void): void {
    this.#call('sync')
    this.#flushLater(descriptor, done)
  }

  datasync(descriptor: number, done: (error: Error | null) => void): void {
    this.#call('datasync')
    this.#flushLater(descriptor, done)
  }

  list(folder: string): string[] {
    this.#call('list')
    const names = [...this.#names.keys()].filter((path) => path.startsWith(`${folder}/`))
    return names.map((path) => path.slice(folder.length + 1))
  }

  makeFolder(): void {
    this.#call('makeFolder')
  }

  rename(from: string, to: string): void {
    this.#call('rename')
    this.#names.set(to, this.#names.get(from)!)
    this.#names.delete(from)
  }

  async unlinkBehind(path: string): Promise<void> {
    this.unlink(path)
  }

  unlink(path: string): void {
    this.#call('unlink')
    if (!this.#names.delete(path)) throw systemError('ENOENT')
  }

  #flushLater(descriptor: number, done: (error: Error | null) => void): void {
    setImmediate(() => {
      if (this.#down) return
      try {
        this.#flush(descriptor)
      } catch (error) {
        done(error as Error)
        return
      }
      done(null)
    })
  }

  #flush(descriptor: number): void {
    const target = this.#open.get(descriptor)
    if (target === undefined) throw systemError('EBADF')
    if (this.failFlush) {
      this.failFlush = false
      if (typeof target !== 'string') target.dirty.clear()
      throw systemError('EIO')
    }
    if (typeof target !== 'string') {
      target.durable = mix(target, (sector) => target.dirty.has(sector), target.cached.length)
      target.dirty.clear()
      return
    }
    for (const path of this.#durableNames.keys()) {
      if (path.startsWith(`${target}/`)) this.#durableNames.delete(path)
    }
    for (const [path, inode] of this.#names) {
      if (path.startsWith(`${target}/`)) this.#durableNames.set(path, inode)
    }
  }
}

/** A generator of numbers from 0 up to 1, which are the same for the same seed (xorshift32). */
export function seededRandom(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

function survivors(inode: Inode, random: () => number): Buffer {
  const sizes = [inode.durable.length, inode.cached.length]
  const kept = new Map<number, boolean>()
  const size = inode.dirty.size === 0 ? inode.durable.length : sizes[Math.floor(random() * 2)]!
  return mix(
    inode,
    (sector) => {
      if (!kept.has(sector)) kept.set(sector, random() < 0.5)
      return inode.dirty.has(sector) && kept.get(sector)!
    },
    size,
  )
}

/** The bytes of the disk with the cached ones in the chosen sectors, and zeros where there are none. */
function mix(inode: Inode, fromCache: (sector: number) => boolean, size: number): Buffer {
  const bytes = Buffer.alloc(size)
  for (let sector = 0; sector * SECTOR < size; sector++) {
    const source = fromCache(sector) ? inode.cached : inode.durable
    bytes.set(source.subarray(sector * SECTOR, Math.min(size, (sector + 1) * SECTOR)), sector * SECTOR)
  }
  return bytes
}

function put(inode: Inode, bytes: Uint8Array, position: number): void {
  if (position + bytes.length > inode.cached.length) resize(inode, position + bytes.length)
  inode.cached.set(bytes, position)
  touch(inode, position, position + bytes.length)
}

function resize(inode: Inode, length: number): void {
  const from = Math.min(length, inode.cached.length)
  const to = Math.max(length, inode.cached.length)
  const bytes = Buffer.alloc(length)
  inode.cached.copy(bytes, 0, 0, length)
  inode.cached = bytes
  touch(inode, from, to)
}

function touch(inode: Inode, from: number, to: number): void {
  for (let sector = Math.floor(from / SECTOR); sector * SECTOR < to; sector++) inode.dirty.add(sector)
}

function systemError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: simulated`), { code })
}
