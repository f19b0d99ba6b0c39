import { BlockList, isIPv6 } from 'node:net'
import { pointDistance } from '../../src/geometry/distance.ts'
import type { Settings } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'
import { iso } from './oracleRecords.ts'

/** The fraud part of oracle.ts: written from docs/spec.md, "Fraud". Lists are looked through, and ranges are Node's. */

const DATED = ['mocked', 'jumped', 'compromised', 'inaccurate', 'proxy', 'sharing'] as const

type Flag = (typeof DATED)[number]

/** What the evaluator sees of an invented world. */
export interface FraudWorld {
  /** Codes of the four kinds, with `/` between them. */
  codesAt(point: { readonly latitude: number; readonly longitude: number }): string
  ipAt(ip: string): {
    readonly isProxy: boolean
    readonly country: string | undefined
    readonly latitude: number
    readonly longitude: number
  }
}

export interface FraudMemory {
  readonly passed: boolean
  readonly last: { readonly [F in Flag]?: number }
  /** What the user shows; undefined before fraud was first judged. */
  readonly shown: object | undefined
}

export const NEVER_JUDGED: FraudMemory = { passed: true, last: {}, shown: undefined }

/** The update before of the same record. */
export interface Before {
  readonly latitude: number
  readonly longitude: number
  readonly accuracy: number | undefined
  readonly time: number
}

export interface FraudAnswer {
  readonly after: FraudMemory
  /** The reasons, if the update makes the event. */
  readonly failed: readonly string[] | undefined
}

/** @param recordId of a record that was there before; undefined: the update makes it */
export function evaluateFraud(
  world: FraudWorld,
  memory: FraudMemory,
  last: Before | undefined,
  update: Update,
  time: number,
  recordId: string | undefined,
  { fraud: settings }: Settings,
): FraudAnswer {
  if (!settings.enabled) return { after: memory, failed: undefined }
  const { latitude, longitude, userId, deviceId, claims = 0 } = update
  const claimed = (bit: number) => claims % (2 * bit) >= bit
  const ip = world.ipAt(update.ip)
  const country = world.codesAt(update).split('/')[0]
  const isAbroad =
    settings.ipCountry &&
    country !== '' &&
    ip.country !== undefined &&
    ip.country !== country &&
    pointDistance(latitude, longitude, ip.latitude, ip.longitude) > 1_000_000
  const ids = [userId, deviceId, recordId]
  const isNamed = (list: readonly string[], names: readonly (string | undefined)[]) =>
    list.some((entry) => names.includes(entry))
  const reasons = {
    fraud_mocked_from_mock_provider: claimed(1) || update.source === 'MOCK_LOCATION',
    fraud_mocked_inconsistent_ip_country: isAbroad,
    fraud_jumped_single_device: hasJumped(),
    fraud_compromised_reported: claimed(2),
    fraud_inaccurate_exceeded_accuracy_threshold: (update.accuracy ?? 0) > settings.maxAccuracy,
    fraud_proxy_known_proxy_ip: ip.isProxy,
    fraud_sharing_reported: claimed(4),
    fraud_blocked_user_id: isNamed(settings.blocked, [userId, recordId]),
    fraud_blocked_device_id: isNamed(settings.blocked, [deviceId]),
    fraud_blocked_ip: settings.blocked.some((entry) => isInRange(update.ip, entry)),
  }
  const raised = Object.keys(reasons).filter((reason) => reasons[reason as keyof typeof reasons])
  const blocked = raised.some((reason) => reason.startsWith('fraud_blocked'))
  const bypassed = isNamed(settings.bypassed, ids)
  const isRaised = (flag: string) => raised.some((reason) => reason.startsWith(`fraud_${flag}_`))
  const flags = Object.fromEntries(DATED.map((flag) => [flag, isRaised(flag)]))
  const dates = { ...memory.last }
  for (const flag of DATED) if (flags[flag]) dates[flag] = time
  const passed = !blocked && (bypassed || !DATED.some((flag) => flags[flag]))
  const lastAt = DATED.map((flag) => {
    const at = dates[flag]
    return [`last${flag[0]!.toUpperCase()}${flag.slice(1)}At`, at === undefined ? null : iso(at)]
  })
  const verified = claimed(8)
  const shown = { passed, bypassed, verified, blocked, ...flags, ...Object.fromEntries(lastAt) }
  const failed = memory.passed && !passed ? raised : undefined
  return { after: { passed, last: dates, shown }, failed }

  function hasJumped(): boolean {
    if (last === undefined) return false
    const way = pointDistance(last.latitude, last.longitude, latitude, longitude)
    const most = (accuracy: number | undefined) => Math.min(accuracy ?? 0, 50_000)
    const meters = way - most(last.accuracy) - most(update.accuracy)
    const hours = Math.max(1000, time - last.time) / 3_600_000
    return meters > settings.jumpMeters && meters / 1000 / hours > settings.jumpSpeed
  }
}

function isInRange(ip: string, entry: string): boolean {
  const [address = '', bits] = entry.split('/')
  const family = (text: string) => (isIPv6(text) ? 'ipv6' : 'ipv4')
  if (!address.includes('.') && !address.includes(':')) return false
  const list = new BlockList()
  if (bits === undefined) list.addAddress(address, family(address))
  else list.addSubnet(address, Number(bits), family(address))
  return list.check(ip, family(ip))
}
