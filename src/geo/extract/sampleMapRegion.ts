import { fork, type ChildProcess } from 'node:child_process'
import { SAMPLE_REGION_CHILD } from '../../../workers/urls.ts'
import { once } from 'node:events'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { importText } from './mapRegionFiles.ts'
import type { SampleNews } from './sampleImport.ts'

/** How long an import may take to end. */
const KILL_AFTER_MS = 2000

/**
 * The sample, a real city and the house numbers of a county to try things with, which is built automatically at the
 * first start by a separate process with low priority, while the server is running. It is built once; a data folder
 * with map regions does not get it.
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
  /** Why it was not built. */
  #failure: string | undefined

  /**
   * @param parts.needed makes what searches in it need besides; that it cannot be made is told elsewhere
   * @param parts.imported looks for it among the map regions
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
   * Its progress, readable for everybody: `building the data of the world`, `building routing tiles 40 %`, `building,
   * unpacking 0 %`; `ready` once all of its products are in service; or that it was not built: the reason contains
   * folders, so it is not included.
   */
  get condition(): string {
    return this.#failure === undefined ? this.#condition : 'failed; the log says why'
  }

  /** Does not wait for it. */
  start(): void {
    this.#logger.info(
      'building the sample: the city of Montevideo, and house numbers of Santa Cruz, California; /readyz shows the progress',
    )
    this.#tell('building the data of the world')
    // One after the other, because each takes some hundred megabytes.
    void this.#needed()
      .catch(() => {})
      .then(() => this.#import())
  }

  #import(): void {
    if (this.#isStopped) return
    const child = fork(SAMPLE_REGION_CHILD, [this.#dataFolder], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      // Nothing of our environment, which contains keys and passwords.
      env: { PATH: process.env.PATH },
      // It should be small rather than quick.
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

  /** Ends a running import; the next start builds it. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const child = this.#child
    if (child === undefined) return
    child.removeAllListeners()
    const ended = once(child, 'exit')
    child.disconnect()
    // It does not react while it unpacks; but then it has not started any tools yet that would be left behind.
    const killTimer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
    await ended
    clearTimeout(killTimer)
  }

  /** The log has a line for each stage. */
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
