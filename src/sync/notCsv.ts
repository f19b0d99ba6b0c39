/** Why a file that begins with these bytes is not CSV in UTF-8; undefined if it may be. */
export function notCsv(begin: Buffer): string | undefined {
  const [first, second] = begin
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || begin.includes(0))
    return 'The file is not in UTF-8, but in UTF-16 or binary. Save it as UTF-8.'
  if (first === 0x50 && second === 0x4b) return 'The file is a zip archive or a spreadsheet. It must be CSV.'
  if (first === 0x1f && second === 0x8b)
    return 'The file is compressed twice. It must be CSV, compressed at most once.'
  if (/^\s*</.test(begin.toString('latin1').replace(/^\u00ef\u00bb\u00bf/, '')))
    return 'The file is a web page or XML, perhaps a sign-in or error page. It must be CSV.'
  return undefined
}
