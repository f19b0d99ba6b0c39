/**
 * Every setting of the process, in one table. The types, the flags, the environment variables, the keys of the
 * configuration file, their checks and the text of `--help` are derived from it. Nothing else in the program reads
 * the environment.
 *
 * A value comes from the first of these that sets it: flag, environment variable, file of `--config`, default.
 */
import { systemReason } from '../src/runtime/errors.ts'
import { CLUSTER_OPTIONS } from './clusterOptions.ts'
import { GEO_OPTIONS } from './geoOptions.ts'
import {
  OptionError,
  type ChoiceOption,
  type IntegerOption,
  type ListOption,
  type Option,
  type RatesOption,
  type SwitchOption,
} from './option.ts'
import { parseOption } from './optionValue.ts'
import { OUTGOING_OPTIONS } from './outgoingOptions.ts'
import { SERVER_OPTIONS } from './serverOptions.ts'

/** The option table. Flags are the names in kebab case: `maxBodyBytes` is `--max-body-bytes`. */
export const OPTIONS = { ...SERVER_OPTIONS, ...CLUSTER_OPTIONS, ...GEO_OPTIONS, ...OUTGOING_OPTIONS } as const

type OptionName = keyof typeof OPTIONS

type ValueOf<O extends Option> = O extends IntegerOption
  ? number
  : O extends SwitchOption
    ? boolean
    : O extends ListOption
      ? readonly string[]
      : O extends RatesOption
        ? Readonly<Record<string, number>>
        : O extends ChoiceOption
          ? O['values'][number]
          : string

/** The checked settings of the process. Lists are empty if nothing was given. */
export type Options = { readonly [N in OptionName]: ValueOf<(typeof OPTIONS)[N]> }

export const OPTION_NAMES = Object.keys(OPTIONS) as OptionName[]

export interface OptionSources {
  /** Arguments after the script's name. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Reads the file of `--config` as text. An error becomes the cause of an {@link OptionError}. */
  readonly readFile: (path: string) => string
}

export interface LoadedOptions {
  readonly options: Options
  /** Arguments that are not flags, in order: the subcommand and its arguments. */
  readonly positionals: readonly string[]
  /**
   * Print this (of the subcommand if there is one) and exit without doing anything else; `options` are then the
   * defaults.
   */
  readonly show: 'help' | 'version' | undefined
  /** Environment variables that are spelled like a setting but are none, and so are probably mistyped. */
  readonly unknownVariables: readonly string[]
}

/** Variables that are no settings, because the import command reads them, which sends requests to a running server. */
const OTHER_VARIABLES = ['RINGFENCE_SECRET_KEY']

/**
 * The settings from flags, environment, file and defaults, in this precedence. Flags are written `--port 80` or
 * `--port=80`; everything after `--` is positional.
 * @throws {OptionError} for an unknown flag or key and for a value that cannot be used
 */
export function loadOptions(sources: OptionSources): LoadedOptions {
  const { flags, positionals, config, show } = readArguments(sources.argv)
  const file = config === undefined || show !== undefined ? {} : readConfig(config, sources.readFile)
  const options: Record<string, unknown> = {}
  for (const name of OPTION_NAMES) {
    const option: Option = OPTIONS[name]
    options[name] = option.default
    if (show !== undefined) continue
    const flag = flags.get(name)
    const variable = sources.env[option.env]
    if (flag !== undefined) options[name] = parseOption(option, flag, flagOf(name))
    else if (variable !== undefined && variable !== '')
      options[name] = parseOption(option, variable, option.env)
    else if (Object.hasOwn(file, name))
      options[name] = parseOption(option, file[name], `${config}: "${name}"`)
  }
  const variables = new Set([...OPTION_NAMES.map((name) => OPTIONS[name].env as string), ...OTHER_VARIABLES])
  const unknownVariables = Object.keys(sources.env).filter(
    (name) => name.startsWith('RINGFENCE_') && !variables.has(name),
  )
  return { options: options as Options, positionals, show, unknownVariables }
}

/** Writes a name as a flag: `maxBodyBytes` becomes `--max-body-bytes`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

function readArguments(argv: readonly string[]) {
  const names = new Map<string, string>(OPTION_NAMES.map((name) => [flagOf(name), name]))
  const flags = new Map<string, string>()
  const positionals: string[] = []
  let config: string | undefined
  let show: 'help' | 'version' | undefined
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i] as string
    if (argument === '--') {
      positionals.push(...argv.slice(i + 1))
      break
    }
    // A negative number is a wrong value of a command, not an unknown option.
    if (!argument.startsWith('-') || /^-(?:\d|$)/.test(argument)) {
      positionals.push(argument)
      continue
    }
    if (argument === '--help' || argument === '-h') {
      show = 'help'
      continue
    }
    if (argument === '--version') {
      show ??= 'version'
      continue
    }
    const equals = argument.indexOf('=')
    const flag = equals < 0 ? argument : argument.slice(0, equals)
    const name = names.get(flag)
    if (name === undefined && flag !== '--config') {
      throw new OptionError(`unknown option ${flag}; --help lists them`)
    }
    const value = equals < 0 ? argv[++i] : argument.slice(equals + 1)
    if (value === undefined || (equals < 0 && value.startsWith('--'))) {
      throw new OptionError(`${flag} needs a value`)
    }
    if (name === undefined) config = value
    else flags.set(name, value)
  }
  return { flags, positionals, config, show }
}

function readConfig(path: string, readFile: (path: string) => string): Record<string, unknown> {
  let text: string
  try {
    text = readFile(path)
  } catch (error) {
    throw new OptionError(`${path}: cannot be read: ${systemReason(error)}`, error)
  }
  let file: unknown
  try {
    file = JSON.parse(text)
  } catch (error) {
    throw new OptionError(`${path}: cannot be read as JSON: ${(error as Error).message}`, error)
  }
  if (typeof file !== 'object' || file === null || Array.isArray(file)) {
    throw new OptionError(`${path}: must hold a JSON object of settings`)
  }
  for (const key of Object.keys(file)) {
    if (!Object.hasOwn(OPTIONS, key)) throw new OptionError(`${path}: unknown setting "${key}"`)
  }
  return file as Record<string, unknown>
}
