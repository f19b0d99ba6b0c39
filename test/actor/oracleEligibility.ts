import type { Geofence } from '../../src/model/geofence.ts'
import type { Settings } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'

/**
 * The part of oracle.ts that decides for whom a geofence makes events, and when. Hours come from Intl, and addresses
 * are compared bit by bit.
 */

export type Barred = 'disabled' | 'past' | 'user' | 'address' | 'closed'

export function barredBy(
  geofence: Geofence,
  update: Update,
  time: number,
  settings: Settings,
): Barred | undefined {
  if (!geofence.enabled) return 'disabled'
  const { disableAfter = Infinity, deleteAfter = Infinity } = geofence
  if (update.receivedAt >= disableAfter || update.receivedAt >= deleteAfter) return 'past'
  if (geofence.userIds !== undefined || geofence.userId !== undefined) {
    const wanted = [...(geofence.userIds ?? []), geofence.userId].filter((one) => one !== undefined)
    if (update.userId === undefined || !wanted.includes(update.userId)) return 'user'
  }
  if (geofence.ip !== undefined && !geofence.ip.split(',').some((range) => inRange(range, update.ip)))
    return 'address'
  return settings.restrictToOperatingHours && isOperating(geofence, time) === false ? 'closed' : undefined
}

function bitsOf(address: string): string {
  if (!address.includes(':')) {
    return address
      .split('.')
      .map((part) => Number(part).toString(2).padStart(8, '0'))
      .join('')
  }
  const [head, tail] = address.split('::').map((half) => half.split(':').filter((group) => group !== ''))
  const groups =
    tail === undefined ? head! : [...head!, ...Array(8 - head!.length - tail.length).fill('0'), ...tail]
  return groups.map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0')).join('')
}

function inRange(range: string, address: string): boolean {
  if (range.includes(':') !== address.includes(':')) return false
  if (range.endsWith('*')) {
    const fixed = range.includes(':') ? 112 : 24
    return bitsOf(range.replace('*', '0')).slice(0, fixed) === bitsOf(address).slice(0, fixed)
  }
  const [base, length] = range.split('/')
  const fixed = length === undefined ? 128 : Number(length)
  return bitsOf(base!).slice(0, fixed) === bitsOf(address).slice(0, fixed)
}

export function isOperating(geofence: Geofence, time: number): boolean | undefined {
  const source = geofence.operatingHours?.source
  if (source === undefined) return undefined
  const format = clockOf(geofence.timeZone)
  const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]))
  const minute = Number(parts.hour) * 60 + Number(parts.minute)
  const today = DAYS.indexOf(parts.weekday!.toLowerCase())
  for (const [name, pairs] of Object.entries(source)) {
    const day = DAYS.indexOf(name.slice(0, 3).toLowerCase())
    for (const pair of pairs) {
      const open = minutesOf(pair[0])
      let close = minutesOf(pair[1])
      if (close <= open) close += 1440
      if (day === today && open <= minute && minute < close) return true
      if ((day + 1) % 7 === today && minute + 1440 < close) return true
    }
  }
  return false
}

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const clocks = new Map<string, Intl.DateTimeFormat>()

function clockOf(timeZone: string): Intl.DateTimeFormat {
  let format = clocks.get(timeZone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
    })
    clocks.set(timeZone, format)
  }
  return format
}

function minutesOf(text: string): number {
  const [hour, minute] = text.split(' ')[0]!.split(':').map(Number)
  if (!/[ap]m/i.test(text)) return hour! * 60 + minute!
  return ((hour! % 12) + (/pm/i.test(text) ? 12 : 0)) * 60 + minute!
}
