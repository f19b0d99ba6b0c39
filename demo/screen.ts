import { styleText } from 'node:util'
import type { DemoEvent } from './api.ts'

type Style = Parameters<typeof styleText>[0]

/** Colours are only used if the output is a terminal and NO_COLOR is not set; `styleText` checks both. */
const STYLES: Readonly<Record<string, Style>> = {
  'user.entered_geofence': 'green',
  'user.exited_geofence': 'yellow',
  'user.dwelled_in_geofence': 'cyan',
}

/** Scrolling lines above one that stays at the bottom. */
export class Screen {
  private status = ''
  private readonly onTerminal = process.stdout.isTTY

  /** Prints a scrolling line. */
  line(text: string): void {
    if (!this.onTerminal || this.status === '') process.stdout.write(`${text}\n`)
    else process.stdout.write(`\r\x1b[2K${text}\n${this.status}`)
  }

  /** Sets the line at the bottom, or prints an ordinary line if the output is not a terminal. */
  bottom(text: string): void {
    if (!this.onTerminal) {
      process.stdout.write(`${text}\n`)
      return
    }
    this.status = styleText('inverse', ` ${text} `)
    process.stdout.write(`\r\x1b[2K${this.status}`)
  }

  /** Removes the line at the bottom. */
  clearBottom(): void {
    if (this.status !== '') process.stdout.write('\r\x1b[2K')
    this.status = ''
  }
}

/** One event as a line: time, what happened, who, where. */
export function eventLine(event: DemoEvent): string {
  const time = styleText('dim', event.createdAt.slice(11, 19))
  const what = event.type.replace(/^user\./, '').replaceAll('_', ' ')
  const type = styleText(STYLES[event.type] ?? 'magenta', what.padEnd(17))
  const where = event.geofence?.description ?? ''
  const stay = event.duration === undefined ? '' : styleText('dim', `after ${event.duration.toFixed(1)} min`)
  const confidence = styleText('dim', `confidence ${event.confidence ?? '–'}`)
  return `${time}  ${type}  ${(event.user?.deviceId ?? '').padEnd(20)}  ${where.padEnd(28)}  ${confidence}  ${stay}`.trimEnd()
}

/** Columns as wide as their widest cell, separated by two blanks. */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd()
  return [line(head), widths.map((width) => '─'.repeat(width)).join('  '), ...rows.map(line)].join('\n')
}
