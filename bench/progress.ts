/** Progress goes to stderr: one line that is rewritten on a terminal, otherwise a line per change. */
const onTerminal = process.stderr.isTTY

/** Shows the current work. */
export function progress(text: string): void {
  process.stderr.write(onTerminal ? `\r\x1b[2K${text}` : `${text}\n`)
}

/** Prints a line that stays. */
export function done(text: string): void {
  process.stderr.write(onTerminal ? `\r\x1b[2K${text}\n` : `${text}\n`)
}
