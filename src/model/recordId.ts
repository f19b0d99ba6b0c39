/** Whether a text has the form of a record's `_id`: 24 hexadecimal digits. */
export function isRecordId(text: string): boolean {
  return /^[0-9a-f]{24}$/.test(text)
}
