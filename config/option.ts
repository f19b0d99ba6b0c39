/** What a setting is: its kinds, and the error of one that cannot be used. */

interface OptionBase {
  /** The environment variable. An empty one counts as not set. */
  readonly env: string
  /** The form of the value, as `--help` shows it: `BYTES`, `on|off`. */
  readonly value: string
  /** One sentence, without the default. */
  readonly help: string
}

export interface IntegerOption extends OptionBase {
  readonly type: 'integer'
  readonly default: number
  readonly low: number
  readonly high: number
}

export interface TextOption extends OptionBase {
  readonly type: 'text'
  /** The default; an empty one means that there is none, and then an empty value is accepted. */
  readonly default: string
  /** What is wrong with the text, or undefined. The sentence never contains a secret. */
  readonly problem?: (text: string) => string | undefined
}

export interface ChoiceOption extends OptionBase {
  readonly type: 'choice'
  readonly default: string
  readonly values: readonly string[]
}

/** A setting that is `on` or `off`, and a boolean in the program. */
export interface SwitchOption extends OptionBase {
  readonly type: 'switch'
  readonly default: boolean
}

/** A list whose items are separated by commas; in a file it may also be an array. */
export interface ListOption extends OptionBase {
  readonly type: 'list'
  readonly default: readonly string[]
  /** What is wrong with the list, or undefined. The sentence never contains a secret. */
  readonly problem?: (list: readonly string[]) => string | undefined
}

/**
 * Numbers by name, written `name=number` with commas between them; in a file an object. `off` is Infinity, and empty
 * means all defaults.
 */
export interface RatesOption extends OptionBase {
  readonly type: 'rates'
  readonly default: Readonly<Record<string, number>>
  readonly names: readonly string[]
  readonly high: number
}

export type Option = IntegerOption | TextOption | ChoiceOption | SwitchOption | ListOption | RatesOption

/** A setting that cannot be used. The message names it and where it came from; the process exits with code 2. */
export class OptionError extends Error {
  readonly exitCode = 2

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'OptionError'
  }
}
