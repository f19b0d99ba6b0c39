import { fork, type ChildProcess } from 'node:child_process'
import { SAMPLE_MAP_REGION_CHILD } from '../../../workers/urls.ts'
import { once } from 'node:events'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { importText } from './mapRegionFiles.ts'
import type { SampleNews } from './sampleImport.ts'

/** How long an import may take to end. */
const KILL_AFTER_MS = 2000

/**
 * The samples to try things with: a real city, and the house numbers of a county. A separate process with low priority
 * builds them automatically at the first start, while the server is running. They are built once, and only for data
 * folders without map regions.
 */
export class SampleMapRegion implements Service {
  readonly name = 'sample region'
  readonly #dataFolder: string
  readonly #needed: () => Promise<unknown>
  readonly #imported: () => Promise<void>
  readonly #logger: Logger
  #child: ChildProcess | undefined
  #condition = 'building'
  #isStopped = false
  /** Why it was not built; undefined if that did not happen. */
  #failure: string | undefined

  /**
   * Does nothing yet.
   * @param parts.needed makes what searches need besides the sample; its failure is reported elsewhere
   * @param parts.imported looks for the sample among the map regions
   */
  constructor(parts: {
    readonly dataFolder: string
    readonly needed: () => Promise<unknown>
    readonly imported: () => Promise<void>
    readonly logger: Logger
  }) {
    this.#dataFolder = parts.dataFolder
    this.#needed = parts.needed
    this.#imported = parts.imported
    this.#logger = parts.logger
  }

  /**
   * The progress, as a text that anybody may read: `building the data of the world`, `building routing tiles 40 %`,
   * `building, unpacking 0 %`; `ready` once all of its products are in service; or that it was not built. The reason
   * for that is left out, because it contains folders.
   */
  get condition(): string {
    return this.#failure === undefined ? this.#condition : 'failed; the log says why'
  }

  /** Starts the build, without waiting for it. */
  start(): void {
    this.#logger.info(
      'building the sample: the city of Montevideo, and house numbers of Santa Cruz, California; /readyz shows the progress',
    )
    this.#tell('building the data of the world')
    // The builds run one after the other, because each takes some hundred megabytes.
    void this.#needed()
      .catch(() => {})
      .then(() => this.#import())
  }

  #import(): void {
    if (this.#isStopped) return
    const child = fork(SAMPLE_MAP_REGION_CHILD, [this.#dataFolder], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      // The child gets nothing of our environment, which contains keys and passwords.
      env: { PATH: process.env.PATH },
      // The process should be small rather than quick.
      execArgv: ['--max-semi-space-size=4', '--max-old-space-size=400'],
    })
    this.#child = child
    const startedAt = performance.now()
    child.on('message', (news: SampleNews) => {
      if ('failed' in news) this.#failure = news.failed
      else this.#tell(importText(news.stage, news.share).replace(/^(?!building)/, 'building, '))
    })
    child.once('error', (error) => this.#fail(error.message))
    child.once('exit', (code, signal) => {
      this.#child = undefined
      if (code !== 0) return this.#fail(signal ?? `exit code ${code}`)
      const seconds = Math.round(performance.now() - startedAt) / 1000
      this.#logger.info(
        { seconds },
        'the sample is ready: Montevideo © OpenStreetMap contributors, ODbL 1.0; Santa Cruz by the U.S. Census Bureau, public domain',
      )
      void this.#imported().then(() => (this.#condition = 'ready'))
    })
  }

  /** Ends a running import. The next start builds the sample. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const child = this.#child
    if (child === undefined) return
    child.removeAllListeners()
    const ended = once(child, 'exit')
    child.disconnect()
    // The child does not react while it unpacks. But then it has not yet started any tools that would be left behind.
    const killTimer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
    await ended
    clearTimeout(killTimer)
  }

  /** Logs a line for each stage. */
  #tell(condition: string): void {
    const stageOf = (text: string): string => text.replace(/ \d+ %$/, '')
    if (stageOf(condition) !== stageOf(this.#condition)) this.#logger.info(`sample: ${condition}`)
    this.#condition = condition
  }

  #fail(reason: string): void {
    this.#child = undefined
    this.#failure ??= reason
    this.#logger.warn(
      { reason: this.#failure },
      'the sample region cannot be imported; the next start retries',
    )
  }
}
