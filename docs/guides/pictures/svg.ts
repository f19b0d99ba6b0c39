/** Just enough SVG: elements as texts, numbers to a tenth of a pixel, colours that change with the reader's theme. */

type Attributes = Readonly<Record<string, string | number | undefined>>

/** One element; numbers are rounded, so that a picture does not depend on the last bit of a machine's arithmetic. */
function element(name: string, attributes: Attributes, content?: string): string {
  const list = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [` ${key}="${typeof value === 'number' ? rounded(value) : value}"`],
  )
  return content === undefined
    ? `<${name}${list.join('')}/>`
    : `<${name}${list.join('')}>${content}</${name}>`
}

export function circle(cx: number, cy: number, r: number, style: string): string {
  return element('circle', { cx, cy, r, class: style })
}

export function line(x1: number, y1: number, x2: number, y2: number, style: string): string {
  return element('line', { x1, y1, x2, y2, class: style })
}

export function box(x: number, y: number, width: number, height: number, style: string): string {
  return element('rect', { x, y, width, height, rx: 2, class: style })
}

export function path(points: readonly (readonly [number, number])[], style: string, close = false): string {
  const d = points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${rounded(x)} ${rounded(y)}`).join('')
  return element('path', { d: close ? `${d}Z` : d, class: style })
}

/** @param anchor where in the text x lies */
export function label(
  x: number,
  y: number,
  text: string,
  style = '',
  anchor: 'start' | 'middle' | 'end' = 'start',
): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return element(
    'text',
    { x, y, class: style === '' ? undefined : style, 'text-anchor': anchor === 'start' ? undefined : anchor },
    escaped,
  )
}

/** An arrowhead whose tip is at x, y, pointing along an angle in degrees clockwise from the right. */
export function arrowhead(x: number, y: number, angle: number, style: string): string {
  return element('path', {
    d: 'M0 0L-9 -4.5L-9 4.5Z',
    transform: `translate(${rounded(x)} ${rounded(y)}) rotate(${rounded(angle)})`,
    class: style,
  })
}

/** A whole picture; `title` says for those who cannot see it what it shows. */
export function picture(width: number, height: number, title: string, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${title}">
<title>${title}</title>
<style>${STYLE}</style>
${box(0.5, 0.5, width - 1, height - 1, 'paper')}
${parts.join('\n')}
</svg>
`
}

function rounded(value: number): number {
  const tenths = Math.round(value * 10) / 10
  return tenths === 0 ? 0 : tenths
}

/** The styles that elements name. */
const STYLE = `
:root{--paper:#fff;--line:#d8dce2;--ink:#1c2330;--faint:#5b6575;--fence:#0b62c4;--three:#1a7f37;--two:#9a6700;--one:#bc4c00;--none:#8c959f}
@media (prefers-color-scheme:dark){:root{--paper:#1c2022;--line:#3a424c;--ink:#e3e7ee;--faint:#9aa5b5;--fence:#6cb0ff;--three:#4ac26b;--two:#d4a72c;--one:#ff8a4c;--none:#7d8590}}
text{font:13px system-ui,sans-serif;fill:var(--ink)}
.small{font-size:11px;fill:var(--faint)}
.strong{font-weight:700}
.paper{fill:var(--paper);stroke:var(--line)}
.fence{fill:var(--fence);fill-opacity:.14;stroke:var(--fence);stroke-width:2}
.outline{fill:none;stroke:var(--fence);stroke-width:1.5;stroke-dasharray:5 4}
.grid{stroke:var(--line);fill:none}
.way{stroke:var(--faint);stroke-width:1.5;fill:none}
.route,.otherroute{stroke:var(--fence);stroke-width:4;stroke-linejoin:round;stroke-linecap:round;fill:none}
.otherroute{stroke:var(--none)}
.turn{fill:var(--paper);stroke:var(--fence);stroke-width:2}
.dashed{stroke:var(--faint);stroke-width:1.2;stroke-dasharray:4 3;fill:none}
.dot{fill:var(--ink)}
.faintdot{fill:var(--faint)}
.beacon{fill:var(--fence)}
.disc3,.disc2,.disc1,.disc0{fill-opacity:.22;stroke-width:1.5}
.disc3{fill:var(--three);stroke:var(--three)}.disc2{fill:var(--two);stroke:var(--two)}.disc1{fill:var(--one);stroke:var(--one)}.disc0{fill:var(--none);stroke:var(--none)}
.bar3,.bar2,.bar1,.bar0{fill-opacity:.85}
.bar3{fill:var(--three)}.bar2{fill:var(--two)}.bar1{fill:var(--one)}.bar0{fill:var(--none)}
.inside{fill:var(--fence);fill-opacity:.75}
.text3{fill:var(--three);font-weight:700}.text2{fill:var(--two);font-weight:700}.text1{fill:var(--one);font-weight:700}.text0{fill:var(--none)}
.onbar{fill:var(--paper);font-weight:700}
`.replaceAll('\n', '')
