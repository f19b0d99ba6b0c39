/** Progress goes to stderr: one line that rewrites itself on a terminal, a line per change elsewhere. */
const onTerminal = process.stderr.isTTY

/** Shows what is under way. */
export function progress(text: string): void {
  process.stderr.write(onTerminal ? `\r\x1b[2K${text}` : `${text}\n`)
}

/** Leaves a line that stays. */
export function done(text: string): void {
  process.stderr.write(onTerminal ? `\r\x1b[2K${text}\n` : `${text}\n`)
}
