import { Fragment, type ComponentChildren } from 'preact'

/** A name and what is known under it; nothing, or an empty text, if nothing is known. */
export type Fact = readonly [name: string, value: ComponentChildren]

/** The facts of a record within its list (`<dl class="facts">`). What is not known has no row. */
export function FactRows({
  facts,
  valueClass,
}: {
  readonly facts: readonly Fact[]
  readonly valueClass?: string
}) {
  return (
    <>
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd class={valueClass}>{value}</dd>
          </Fragment>
        ))}
    </>
  )
}
