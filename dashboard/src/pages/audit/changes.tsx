// oxlint-disable-next-line import/no-unassigned-import
import './audit.css'

type Values = Readonly<Record<string, unknown>>

/** Longer values are cut; the call has all of it. */
const MAX_LENGTH = 300
/** Members that change with every write, so that showing them says nothing. */
const NOISE: ReadonlySet<string> = new Set(['updatedAt', '_id', 'createdAt', 'live'])

/** The members of a record that differ: struck out as they were, and as they became. */
export function Changes({ before = {}, after = {} }: { readonly before?: Values; readonly after?: Values }) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !NOISE.has(name) && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  if (names.length === 0) return <p class="quiet">No value differs.</p>
  return (
    <table class="changes">
      <tbody>
        {names.map((name) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{name in before && <del>{textOf(before[name])}</del>}</td>
            <td>{name in after && <ins>{textOf(after[name])}</ins>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)} …` : text
}
