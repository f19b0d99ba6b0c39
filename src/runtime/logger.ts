import { pino, type Logger } from 'pino'

export type { Logger } from 'pino'

/** Reports errors of this program. Every logger fits. */
export interface ErrorLog {
  error(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** The target of log lines: the part of a writable stream that logging needs. */
export interface LogTarget {
  write(text: string): unknown
  /** Whether a person reads it. Then lines are short instead of JSON. */
  readonly isTTY?: boolean
}

/**
 * The process's logger: one JSON object per line (`time`, `level`, `msg`, further fields), or short readable lines
 * where the target is a terminal. API keys are masked in every field and message, so that no call site has to do it.
 *
 * Writing is synchronous: log lines are rare (never one per update) and the last one before a crash matters most.
 */
export function createLogger(level: string, target: LogTarget = process.stderr): Logger {
  const readable = target.isTTY === true
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => void target.write(maskKeys(readable ? shortLine(line) : line)) },
  )
}

/** The interval between progress lines. */
const PROGRESS_MS = 1000

/**
 * Logs progress, in any unit, at most once a second and not in the first second, so that short work logs nothing.
 * @param message what is being done
 */
export function progressLog(
  logger: Logger,
  clock: { now(): number },
  message: string,
): (done: number, total: number) => void {
  let next = clock.now() + PROGRESS_MS
  return (done, total) => {
    if (clock.now() < next) return
    next = clock.now() + PROGRESS_MS
    logger.info({ done, total }, message)
  }
}

/** Replaces every API key in the text by its prefix and its last four characters. */
export function maskKeys(text: string): string {
  return text.replace(
    /(prj_(?:test|live)_[ps]k_)([\w-]+)/g,
    (_, prefix: string, secret: string) => `${prefix}…${secret.length > 8 ? secret.slice(-4) : ''}`,
  )
}

/** A short line: `12:34:56.789 INFO listening port=8080`. An error's stack follows on separate lines. */
function shortLine(line: string): string {
  const { time, level, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown>
  const words = [String(time).slice(11, 23), String(level).toUpperCase()]
  if (msg !== undefined) words.push(String(msg))
  for (const [name, value] of Object.entries(fields)) {
    words.push(`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  }
  const stack = (err as { stack?: unknown } | undefined)?.stack
  return `${words.join(' ')}\n${typeof stack === 'string' ? `${stack}\n` : ''}`
}
