/** An import as the server returns it. */
export interface ImportAnswer {
  readonly status: 'completed' | 'interrupted'
  readonly rows: number
  readonly created: number
  readonly updated: number
  readonly refused: number
  readonly note?: string
  readonly interruption?: { readonly line?: number; readonly message: string }
  readonly errors: readonly {
    readonly line: number
    readonly column?: string
    readonly message: string
    readonly value?: string
  }[]
  readonly moreErrors: number
}

const BAR_CELLS = 24
const MAX_VALUE_LENGTH = 32

/**
 * One line about a running upload.
 * @param rows how many the server has finished; undefined if it has not reported any yet, in which case the sent part
 * counts
 * @param size of the file in bytes
 * @param seconds since its beginning
 */
export function progressText(
  sent: { readonly bytes: number; readonly lines: number },
  rows: number | undefined,
  size: number,
  seconds: number,
): string {
  const shareSent = size === 0 ? 1 : Math.min(1, sent.bytes / size)
  const done = rows ?? sent.lines
  // This assumes that the rest of the file has as many rows as the part that was read.
  const share = rows === undefined ? shareSent : Math.min(1, (rows / Math.max(1, sent.lines)) * shareSent)
  const full = Math.round(share * BAR_CELLS)
  const bar = '█'.repeat(full) + '░'.repeat(BAR_CELLS - full)
  const rate = seconds > 0 ? Math.round(done / seconds) : 0
  const left = share > 0 ? Math.ceil((seconds / share) * (1 - share)) : 0
  const parts = [
    `${String(Math.floor(share * 100)).padStart(3)} %`,
    `${megabytes(share * size)} of ${megabytes(size)} MB`,
    `${grouped(done)} rows`,
    `${grouped(rate)}/s`,
    `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')} left`,
  ]
  return `${bar} ${parts.join('  ')}`
}

/** The result of a file, with its refused rows as a table. */
export function reportText(path: string, answer: ImportAnswer, seconds: number): string {
  const { rows, created, updated, refused, interruption, note, errors, moreErrors } = answer
  const lines = [
    `${path}: ${grouped(rows)} rows in ${seconds.toFixed(1)} s: ` +
      `${grouped(created)} created, ${grouped(updated)} updated, ${grouped(refused)} refused.`,
  ]
  if (interruption !== undefined) {
    const where = interruption.line === undefined ? '' : ` at line ${interruption.line}`
    lines.push(`The import ended${where}: ${interruption.message} The rows before were imported.`)
  }
  if (note !== undefined) lines.push(note)
  if (errors.length > 0) {
    const cells = errors.map(({ line, column = '', value = '', message }) => [
      String(line),
      visible(column),
      visible(value),
      message,
    ])
    lines.push('', ...table(['line', 'column', 'value', 'refused because'], cells))
  }
  if (moreErrors > 0) lines.push(`… and ${grouped(moreErrors)} more.`)
  return lines.join('\n')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)))
  // The last column may have any length.
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i]!))).join('  ')
  return [line(head), widths.map((width) => '─'.repeat(Math.min(width, 80))).join('  '), ...rows.map(line)]
}

/** One line without control characters, because the contents of a file must not control the terminal. */
function visible(text: string): string {
  const oneLine = text.replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
  return oneLine.length > MAX_VALUE_LENGTH ? `${oneLine.slice(0, MAX_VALUE_LENGTH - 1)}…` : oneLine
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}

function grouped(count: number): string {
  return count.toLocaleString('en-US')
}
