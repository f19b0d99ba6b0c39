/** Reads the value of a setting. */
import { OptionError, type Option, type RatesOption } from './option.ts'
import { shown } from './optionChecks.ts'

/**
 * Converts a raw value (text, or a value from a JSON file) to the option's type. `source` begins the error's message.
 */
export function parseOption(option: Option, raw: unknown, source: string): unknown {
  switch (option.type) {
    case 'integer': {
      const number = typeof raw === 'string' && /^-?\d+$/.test(raw.trim()) ? Number(raw) : raw
      if (!Number.isSafeInteger(number)) throw bad(source, 'must be a whole number', raw)
      if ((number as number) < option.low || (number as number) > option.high) {
        throw bad(source, `must be from ${option.low} to ${option.high}`, raw)
      }
      return number
    }
    case 'switch':
      if (raw !== 'on' && raw !== 'off') throw bad(source, 'must be on or off', raw)
      return raw === 'on'
    case 'choice':
      if (typeof raw !== 'string' || !option.values.includes(raw)) {
        throw bad(source, `must be one of ${option.values.join(', ')}`, raw)
      }
      return raw
    case 'text':
      if (typeof raw !== 'string' || (raw.trim() === '' && option.default !== '')) {
        throw bad(source, 'must be a text', raw)
      }
      const wrong = raw === '' ? undefined : option.problem?.(raw)
      if (wrong !== undefined) throw new OptionError(`${source} ${wrong}`)
      return raw
    case 'list': {
      const items: unknown = typeof raw === 'string' ? raw.split(',') : raw
      if (!Array.isArray(items) || !items.every((item) => typeof item === 'string')) {
        throw new OptionError(`${source} must be a comma-separated list`)
      }
      const list = items.map((item) => item.trim()).filter((item) => item !== '')
      const problem = option.problem?.(list)
      if (problem !== undefined) throw new OptionError(`${source} ${problem}`)
      return list
    }
    case 'rates':
      return parseRates(option, raw, source)
  }
}

function parseRates(option: RatesOption, raw: unknown, source: string): Record<string, number> {
  const rates: Record<string, number> = {}
  for (const [name, value] of ratePairs(raw, source)) {
    if (!option.names.includes(name)) {
      throw new OptionError(`${source} has no ${shown(name)}; it knows ${option.names.join(', ')}`)
    }
    const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
    if (number === 'off') rates[name] = Infinity
    else if (Number.isInteger(number) && (number as number) >= 1 && (number as number) <= option.high) {
      rates[name] = number as number
    } else throw bad(`${source} ${name}`, `must be from 1 to ${option.high}, or off`, value)
  }
  return rates
}

function ratePairs(raw: unknown, source: string): (readonly [name: string, value: unknown])[] {
  if (typeof raw === 'object' && raw !== null && !Array.isArray(raw)) return Object.entries(raw)
  if (typeof raw !== 'string') throw new OptionError(`${source} must be a list of name=number, or an object`)
  const items = raw.split(',').filter((item) => item.trim() !== '')
  return items.map((item) => {
    const equals = item.lastIndexOf('=')
    if (equals < 0) throw bad(source, 'must be a list of name=number', item.trim())
    return [item.slice(0, equals).trim(), item.slice(equals + 1).trim()]
  })
}

function bad(source: string, sentence: string, raw: unknown): OptionError {
  return new OptionError(`${source} ${sentence}, not ${shown(raw)}`)
}
