import { MARK, type FraudSettings } from '../model/fraud.ts'
import { matchesIp, parseIpRanges, type IpRanges } from '../model/ipRanges.ts'
import type { Update } from '../model/update.ts'

/**
 * Who is blocked and who is bypassed.
 *
 * The obvious way looks through ten thousand entries for each update. Here, ids are in sets, and whether an address is
 * in one of the ranges is remembered for the addresses that were asked about last.
 */
export interface FraudLists {
  readonly bypassed: ReadonlySet<string>
  readonly blocked: ReadonlySet<string>
  readonly ranges: IpRanges
  readonly isInRanges: Map<string, boolean>
}

const MOST_ADDRESSES = 10_000
/** The form of `10.0.0.0/8`, `2001:db8::/32`, and single addresses. */
const RANGE = /^[0-9a-f:.]{2,45}(?:\/\d{1,3})?$/i

/** The lists by their settings, which an edit replaces. */
const known = new WeakMap<FraudSettings, FraudLists>()

export function listsOf(fraud: FraudSettings): FraudLists {
  let lists = known.get(fraud)
  if (lists === undefined) {
    const ranges = fraud.blocked.flatMap(rangesOf)
    lists = {
      bypassed: new Set(fraud.bypassed),
      blocked: new Set(fraud.blocked),
      ranges,
      isInRanges: new Map(),
    }
    known.set(fraud, lists)
  }
  return lists
}

/** An entry as a range of addresses; empty if it is an id. */
function rangesOf(entry: string): IpRanges {
  if (!RANGE.test(entry)) return []
  try {
    return parseIpRanges(entry)
  } catch {
    return []
  }
}

/**
 * The marks of the lists that name the user, the device or the address.
 * @param recordId the id of a known user
 */
export function isListed(lists: FraudLists, update: Update, recordId: string | undefined): number {
  const { bypassed, blocked, ranges } = lists
  if (bypassed.size + blocked.size === 0) return 0
  const { userId, deviceId, ip } = update
  const isIn = (list: ReadonlySet<string>, id: string | undefined) => id !== undefined && list.has(id)
  let marks = 0
  if (isIn(bypassed, userId) || isIn(bypassed, deviceId) || isIn(bypassed, recordId)) marks |= MARK.bypassed
  if (isIn(blocked, userId) || isIn(blocked, recordId)) marks |= MARK.blockedUser
  if (isIn(blocked, deviceId)) marks |= MARK.blockedDevice
  if (ranges.length > 0 && isInRanges(lists, ip)) marks |= MARK.blockedIp
  return marks
}

function isInRanges({ ranges, isInRanges: answers }: FraudLists, ip: string): boolean {
  let answer = answers.get(ip)
  if (answer === undefined) {
    answer = matchesIp(ranges, ip)
    if (answers.size === MOST_ADDRESSES) answers.clear()
    answers.set(ip, answer)
  }
  return answer
}
