import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The content of a table: one object per line, whose keys are the columns. */
export type Rows = readonly Readonly<Record<string, unknown>>[]

const README = join(import.meta.dirname, 'README.md')

/** A Markdown table with its columns aligned, numbers to the right. */
function markdownTable(rows: Rows): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const isNumeric = columns.map((name) =>
    rows.every((row) => /^(?:[-\d.,+]*|undefined)$/.test(String(row[name]))),
  )
  const cells = [columns, ...rows.map((row) => columns.map((name) => String(row[name] ?? '')))]
  const widths = columns.map((_, i) => Math.max(3, ...cells.map((line) => line[i]!.length)))
  const lines = cells.map((line) =>
    line.map((cell, i) => (isNumeric[i] ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!))),
  )
  const rule = widths.map((width, i) => (isNumeric[i] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)))
  return [lines[0]!, rule, ...lines.slice(1)].map((line) => `| ${line.join(' | ')} |`).join('\n')
}

/** Puts the table of a result, and where it was measured, into the README, between the marks with the bench's name. */
export function showInReadme(
  name: string,
  result: { readonly rows?: Rows; readonly machine: Readonly<Record<string, unknown>> },
): void {
  if (result.rows === undefined) return
  const { processor, processors, node, commit, date } = result.machine
  const where = `${processors} × ${processor}, Node ${node}, commit ${commit}, ${String(date).slice(0, 10)}:`
  write(name, 'its last run', `${where}\n\n${markdownTable(result.rows)}`)
}

/** Puts the table of stated figures into the README. */
export function showStated(rows: Rows): void {
  write('stated', 'the last runs', markdownTable(rows))
}

function write(name: string, by: string, content: string): void {
  if (!existsSync(README)) return
  const text = readFileSync(README, 'utf8')
  const begin = `<!-- ${name}: written by ${by} -->`
  const end = `<!-- end of ${name} -->`
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from < 0 || to < from) return
  writeFileSync(README, `${text.slice(0, from)}${begin}\n\n${content}\n\n${text.slice(to)}`)
}
