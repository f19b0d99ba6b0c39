/** Header in which SDKs say what they run on: `iOS`, `Android` or `Web`. A route that reads it names it. */
export const DEVICE_TYPE_HEADER = 'x-radar-device-type'

/** Whether the request comes from an iOS SDK. */
export function isIos(headers: Readonly<Record<string, string>>): boolean {
  return headers[DEVICE_TYPE_HEADER]?.toLowerCase() === 'ios'
}
