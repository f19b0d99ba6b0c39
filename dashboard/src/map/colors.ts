/** The colours of everything that is drawn without CSS. */
export type ColorToken =
  | 'fence'
  | 'device'
  | 'card'
  | 'accent'
  | 'ink'
  | 'ink-2'
  | 'trail'
  | 'ok'
  | 'warn'
  | 'bad'
  | 'line-2'

/** The colours of the theme as the browser computes them. */
export function colorOf(token: ColorToken): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${token})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
