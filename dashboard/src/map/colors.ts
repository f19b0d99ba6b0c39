/** The colours of the theme as the browser computes them, for what is drawn without CSS. */
export function colorOf(
  token: 'fence' | 'device' | 'card' | 'accent' | 'ink-2' | 'trail' | 'ok' | 'bad' | 'line-2',
): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${token})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
