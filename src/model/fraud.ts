/** Bits for the statements of an app about its own device in an update. */
export const CLAIM = { mocked: 1, compromised: 2, sharing: 4, verified: 8 } as const

/** The reasons why a user does not pass, in the order of answers. Each is a bit of {@link FraudRecord.marks}. */
export const FAILURE_REASONS = [
  'fraud_mocked_from_mock_provider',
  'fraud_mocked_inconsistent_ip_country',
  'fraud_jumped_single_device',
  'fraud_compromised_reported',
  'fraud_inaccurate_exceeded_accuracy_threshold',
  'fraud_proxy_known_proxy_ip',
  'fraud_sharing_reported',
  'fraud_blocked_user_id',
  'fraud_blocked_device_id',
  'fraud_blocked_ip',
] as const

export type FailureReason = (typeof FAILURE_REASONS)[number]

/** The bits of {@link FraudRecord.marks}: those of the reasons, by their position, and two that are not reasons. */
export const MARK = {
  mockProvider: 1 << 0,
  ipCountry: 1 << 1,
  jumped: 1 << 2,
  compromised: 1 << 3,
  inaccurate: 1 << 4,
  proxy: 1 << 5,
  sharing: 1 << 6,
  blockedUser: 1 << 7,
  blockedDevice: 1 << 8,
  blockedIp: 1 << 9,
  verified: 1 << 10,
  bypassed: 1 << 11,
} as const

/** The flags that have a date of their last update, and the marks that raise them. */
export const DATED_FLAGS = [
  ['mocked', MARK.mockProvider | MARK.ipCountry],
  ['jumped', MARK.jumped],
  ['compromised', MARK.compromised],
  ['inaccurate', MARK.inaccurate],
  ['proxy', MARK.proxy],
  ['sharing', MARK.sharing],
] as const

const BLOCKED = MARK.blockedUser | MARK.blockedDevice | MARK.blockedIp
/** All marks of {@link DATED_FLAGS}. */
const DATED = MARK.blockedUser - 1

/** What is known about the fraud of a user. Immutable. */
export interface FraudRecord {
  /** The bits of {@link MARK} that the last update raised. */
  readonly marks: number
  /**
   * For each of {@link DATED_FLAGS}, the time t of the last update with that flag, in epoch milliseconds; 0 if there
   * is none.
   */
  readonly last: readonly number[]
}

/** The record of a user without any suspicion. */
export const NO_FRAUD: FraudRecord = { marks: 0, last: [0, 0, 0, 0, 0, 0] }

/** Whether a user passes. */
export function passes(marks: number): boolean {
  if ((marks & BLOCKED) !== 0) return false
  return (marks & MARK.bypassed) !== 0 || (marks & DATED) === 0
}

/** Whether the user is blocked. */
export function isBlocked(marks: number): boolean {
  return (marks & BLOCKED) !== 0
}

/** The reasons among the marks. A user who passes although some are raised has none. */
export function reasonsOf(marks: number): FailureReason[] {
  return passes(marks) ? [] : FAILURE_REASONS.filter((_, bit) => (marks & (1 << bit)) !== 0)
}

/** How the fraud of users is judged. */
export interface FraudSettings {
  readonly enabled: boolean
  /** In kilometres per hour, more than 0. */
  readonly jumpSpeed: number
  /** In metres, at least 0. */
  readonly jumpMeters: number
  /** In metres, more than 0. */
  readonly maxAccuracy: number
  /** Whether the country of the requester's IP address counts. */
  readonly ipCountry: boolean
  /** The `_id`s, userIds and deviceIds of users who always pass. */
  readonly bypassed: readonly string[]
  /** The same for users who never pass, with IP addresses and CIDR ranges. */
  readonly blocked: readonly string[]
}

export const DEFAULT_FRAUD: FraudSettings = {
  enabled: false,
  jumpSpeed: 1000,
  jumpMeters: 10_000,
  maxAccuracy: 1000,
  ipCountry: false,
  bypassed: [],
  blocked: [],
}

/** What an update says about itself that may be suspicious: bits of {@link CLAIM}. */
export function claimsOf(body: {
  readonly mocked?: boolean | undefined
  readonly compromised?: boolean | undefined
  readonly sharing?: boolean | undefined
  readonly verified?: boolean | undefined
}): number {
  return (
    (body.mocked ? CLAIM.mocked : 0) |
    (body.compromised ? CLAIM.compromised : 0) |
    (body.sharing ? CLAIM.sharing : 0) |
    (body.verified ? CLAIM.verified : 0)
  )
}

/** Whether a verified update passes. */
export interface Verdict {
  readonly passed: boolean
  /** The reasons; empty if the update passes. */
  readonly failureReasons: readonly string[]
}

/**
 * The verdict on an update, if it is a verified one and fraud is judged.
 * @param claims bits of {@link CLAIM}
 */
export function verdictOf(
  { marks }: FraudRecord,
  claims: number | undefined,
  { enabled }: FraudSettings,
): Verdict | undefined {
  if (!enabled || claims === undefined || (claims & CLAIM.verified) === 0) return undefined
  return { passed: passes(marks), failureReasons: reasonsOf(marks) }
}
