/** Metadata as people write it: lines of `name: value`. */

type Value = string | number | boolean

export function metadataOf(text: string): Record<string, Value> {
  const entries = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line): [string, Value] => {
      const at = line.indexOf(':')
      const [name, value] = at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
      if (value === 'true' || value === 'false') return [name, value === 'true']
      return [name, value !== '' && String(Number(value)) === value ? Number(value) : value]
    })
  return Object.fromEntries(entries)
}

export function metadataText(metadata: object | undefined): string {
  return Object.entries(metadata ?? {})
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join('\n')
}
