import { useRef, useState } from 'preact/hooks'
import { DAYS } from './geofenceDraft.ts'
import { hourStates, hourText, withHour } from './hours.ts'

const HOURS = Array.from({ length: 24 }, (_, hour) => hour)
const WORDS = { open: 'open', part: 'partly open', closed: 'closed' } as const
const ARROWS: Readonly<Record<string, readonly [days: number, hours: number]>> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
}

/** The hours of a week as 7 × 24 cells. The mouse draws over them; arrows and the space bar do the same. */
export function HoursGrid(props: {
  readonly hours: Readonly<Record<string, string>>
  readonly onChange: (day: string, text: string) => void
}) {
  const { hours, onChange } = props
  /** The one cell that the Tab key stops at. */
  const [focused, setFocused] = useState<readonly [day: number, hour: number]>([0, 8])
  const table = useRef<HTMLTableElement>(null)
  /** What the mouse does while its button is down. */
  const isOpening = useRef(true)
  const set = (day: string, hour: number, isOpen: boolean) =>
    onChange(day, withHour(hours[day] ?? '', hour, isOpen))
  const move = (event: KeyboardEvent) => {
    const arrow = ARROWS[event.key]
    if (arrow === undefined) return
    event.preventDefault()
    const day = (focused[0] + arrow[0] + DAYS.length) % DAYS.length
    const hour = (focused[1] + arrow[1] + HOURS.length) % HOURS.length
    setFocused([day, hour])
    table.current?.querySelector<HTMLElement>(`[data-cell="${day}-${hour}"]`)?.focus()
  }
  return (
    <div class="hours-grid">
      <table ref={table} onKeyDown={move}>
        <caption class="visually-hidden">
          Hours of the week. Arrows move, the space bar opens or closes.
        </caption>
        <thead>
          <tr>
            <td />
            {HOURS.map((hour) => (
              <th key={hour} scope="col">
                {hour % 3 === 0 ? hourText(hour) : ''}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {DAYS.map((day, row) => {
            const states = hourStates(hours[day] ?? '')
            return (
              <tr key={day}>
                <th scope="row">{day.slice(0, 3)}</th>
                {HOURS.map((hour) => {
                  const state = states?.[hour] ?? 'closed'
                  return (
                    <td key={hour}>
                      <button
                        type="button"
                        class={state}
                        data-cell={`${row}-${hour}`}
                        aria-label={`${day} ${hourText(hour)}:00, ${WORDS[state]}`}
                        aria-pressed={state === 'part' ? 'mixed' : state === 'open'}
                        disabled={states === undefined}
                        title={
                          states === undefined
                            ? 'The text of this day is not one that the grid can show.'
                            : undefined
                        }
                        tabIndex={focused[0] === row && focused[1] === hour ? 0 : -1}
                        onFocus={() => setFocused([row, hour])}
                        onPointerDown={(event) => {
                          if (event.pointerType !== 'mouse' || event.button !== 0) return
                          isOpening.current = state !== 'open'
                          set(day, hour, isOpening.current)
                        }}
                        onPointerEnter={(event) => {
                          if (event.pointerType === 'mouse' && event.buttons === 1)
                            set(day, hour, isOpening.current)
                        }}
                        onClick={(event) => {
                          // The mouse has done it when its button went down.
                          const isMouse =
                            event.detail > 0 && event instanceof PointerEvent && event.pointerType === 'mouse'
                          if (!isMouse) set(day, hour, state !== 'open')
                        }}
                      />
                    </td>
                  )
                })}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
