import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  readonly help?: ComponentChildren
  /** The server's sentence about what is wrong with the field. */
  readonly wrong?: string | undefined
}

interface Described extends FieldProps {
  readonly children: (attributes: {
    readonly id: string
    readonly 'aria-invalid': boolean
    readonly 'aria-describedby': string | undefined
  }) => ComponentChildren
}

/** A label, the control, its sentence and its error. */
function Field({ label, help, wrong, children }: Described) {
  const id = useId()
  const described = [help && `${id}-help`, wrong && `${id}-wrong`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-invalid': wrong !== undefined, 'aria-describedby': described || undefined })}
      {wrong && (
        <span class="wrong" id={`${id}-wrong`} role="alert">
          {wrong}
        </span>
      )}
      {help && (
        <span class="help" id={`${id}-help`}>
          {help}
        </span>
      )}
    </div>
  )
}

export interface TextProps extends FieldProps {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly type?: 'text' | 'password' | 'email' | 'url' | 'number' | 'datetime-local' | 'search'
  readonly placeholder?: string
  readonly autocomplete?: string
  readonly required?: boolean
  readonly autofocus?: boolean
  readonly disabled?: boolean
  readonly list?: readonly string[]
}

export function TextField({ label, help, wrong, value, onInput, list, autofocus, ...rest }: TextProps) {
  const listId = useId()
  return (
    <Field label={label} help={help} wrong={wrong}>
      {(attributes) => (
        <>
          <input
            {...attributes}
            {...(rest as object)}
            class="input"
            spellcheck={false}
            step={rest.type === 'number' ? 'any' : undefined}
            list={list && listId}
            value={value}
            ref={autofocus ? (element) => element?.focus() : undefined}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
          {list && (
            <datalist id={listId}>
              {list.map((item) => (
                <option key={item} value={item} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  )
}

export function SelectField(
  props: FieldProps & {
    readonly value: string
    readonly options: readonly (readonly [value: string, text: string])[]
    readonly disabled?: boolean
    readonly onChange: (value: string) => void
  },
) {
  const { label, help, wrong, value, options, disabled, onChange } = props
  return (
    <Field label={label} help={help} wrong={wrong}>
      {(attributes) => (
        <select
          {...attributes}
          class="input"
          disabled={disabled}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

export function CheckField(props: {
  readonly label: ComponentChildren
  readonly checked: boolean
  readonly disabled?: boolean
  readonly onChange: (checked: boolean) => void
}) {
  const { label, checked, disabled, onChange } = props
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  )
}
export function TextArea(
  props: FieldProps & {
    readonly value: string
    readonly rows?: number
    readonly placeholder?: string
    readonly onInput: (value: string) => void
  },
) {
  const { label, help, wrong, value, onInput, rows = 4, placeholder } = props
  return (
    <Field label={label} help={help} wrong={wrong}>
      {(attributes) => (
        <textarea
          {...attributes}
          class="input"
          rows={rows}
          spellcheck={false}
          placeholder={placeholder}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}
