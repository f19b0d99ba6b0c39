/** Opening hours of OpenStreetMap as operating hours of geofences. Pure. */

/** Pairs of opening and closing times by day, as in the definition of a geofence. Days that are missing are closed. */
export type WeeklyHours = Readonly<Record<string, readonly (readonly [open: string, close: string])[]>>

const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const
const CODES: readonly string[] = DAYS.map((day) => day.slice(0, 2))
const WHOLE_WEEK = DAYS.map((_, day) => day)
/** Public and school holidays are not days of a week, so their times are left out. */
const HOLIDAYS: ReadonlySet<string> = new Set(['PH', 'SH'])
const ALWAYS = '24/7'
const ALL_DAY = ['00:00', '24:00'] as const
/**
 * Days, followed by times or `off`. Each of the two may be missing: `Mo-Fr 09:00-12:00`, `13:00-18:00`, `Sa`, `Su
 * off`.
 */
const PART = /^(?:([A-Z][a-zH])(?:-([A-Z][a-z]))?)? ?(?:(\d{1,2}:\d\d) ?- ?(\d{1,2}:\d\d)|(off|closed))?$/
const MAX_LENGTH = 255

type Pairs = (readonly [string, string])[]

/**
 * Reads the value of `opening_hours` if it is a weekly plan: rules of days and times, such as
 * `Mo-Fr 09:00-12:00,13:00-18:00; Sa 10:00-14:00; Su off`. As OpenStreetMap defines it, a rule after `;` replaces the
 * days that it names, and one after `,` adds to them.
 * @returns undefined for everything else: months, weeks, sunset, comments, open ends; and if it is never open
 */
export function weeklyHours(text: string): WeeklyHours | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const week: Pairs[] = DAYS.map(() => [])
  if (text.trim() === ALWAYS) return dictionaryOf(week.map(() => [ALL_DAY]))
  for (const rule of text.split(';')) {
    if (rule.trim() === '') continue
    if (!applyRule(week, rule)) return undefined
  }
  return dictionaryOf(week)
}

/**
 * Applies a rule to the week.
 * @returns whether the rule was understood
 */
function applyRule(week: Pairs[], rule: string): boolean {
  let days: number[] | undefined
  let pairs: Pairs = []
  let isComplete = false
  let isAdded = false
  const close = (): void => {
    const isMore = isAdded && pairs.length > 0
    for (const day of days ?? WHOLE_WEEK) week[day] = isMore ? [...week[day]!, ...pairs] : pairs
    days = undefined
    pairs = []
    isComplete = false
    isAdded = true
  }
  for (const part of rule.split(',')) {
    const match = PART.exec(part.trim())
    if (match === null || match[0] === '') return false
    const [, first, last, opens, closes, off] = match
    if (first !== undefined) {
      if (isComplete) close()
      const range = daysOf(first, last)
      if (range === undefined) return false
      days = [...(days ?? []), ...range]
    }
    if (opens !== undefined) {
      const pair = pairOf(opens, closes!)
      if (pair === undefined) return false
      pairs.push(pair)
    }
    isComplete ||= opens !== undefined || off !== undefined
  }
  if (isComplete) close()
  // A rule must not consist of days without times.
  return days === undefined
}

/**
 * The days from Monday, which is 0. There are none for holidays.
 * @returns undefined if the text is not a day
 */
function daysOf(first: string, last: string | undefined): number[] | undefined {
  if (HOLIDAYS.has(first) && last === undefined) return []
  const [from, to] = [first, last ?? first].map((code) => CODES.indexOf(code)) as [number, number]
  if (from < 0 || to < 0) return undefined
  const length = ((to - from + DAYS.length) % DAYS.length) + 1
  return Array.from({ length }, (_, i) => (from + i) % DAYS.length)
}

/** A closing time after midnight may be more than 24:00. */
function pairOf(opens: string, closes: string): readonly [string, string] | undefined {
  const [open, close] = [opens, closes].map((time) => {
    const [hour, minute] = time.split(':').map(Number) as [number, number]
    return minute < 60 ? hour * 60 + minute : Number.NaN
  }) as [number, number]
  if (!(open < DAY_MINUTES && close <= open + DAY_MINUTES && close <= 2 * DAY_MINUTES)) return undefined
  return [timeText(open), timeText(close > DAY_MINUTES ? close - DAY_MINUTES : close)]
}

const DAY_MINUTES = 1440

function timeText(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':')
}

function dictionaryOf(week: readonly (readonly (readonly [string, string])[])[]): WeeklyHours | undefined {
  const open = DAYS.map((day, i) => [day, week[i]!] as const).filter(([, pairs]) => pairs.length > 0)
  return open.length === 0 ? undefined : Object.fromEntries(open)
}
