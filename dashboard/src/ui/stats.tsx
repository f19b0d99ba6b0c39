import type { ComponentChildren } from 'preact'

/** A number that matters, with its name below. */
export function Stat(props: {
  readonly name: string
  readonly value: ComponentChildren
  readonly detail?: ComponentChildren
}) {
  const { name, value, detail } = props
  return (
    <div class="stat card">
      <span class="quiet">{name}</span>
      <strong>{value}</strong>
      {detail && <span class="quiet">{detail}</span>}
    </div>
  )
}

/** Numbers beside each other. */
export function Stats({ children }: { readonly children: ComponentChildren }) {
  return <div class="stats">{children}</div>
}
