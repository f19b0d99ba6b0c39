/** The header with the platform of an SDK: `iOS`, `Android` or `Web`. Routes that read it name it. */
export const DEVICE_TYPE_HEADER = 'x-radar-device-type'

/** Whether the request comes from an iOS SDK. */
export function isIos(headers: Readonly<Record<string, string>>): boolean {
  return headers[DEVICE_TYPE_HEADER]?.toLowerCase() === 'ios'
}
