/**
 * Whether a client accepts content that is packed with gzip.
 * @param accepted the value of the Accept-Encoding header, if it was sent
 */
export function acceptsGzip(accepted: string | undefined): boolean {
  const coding = accepted?.split(',').find((one) => /^\s*(?:gzip|\*)\s*(?:;|$)/i.test(one))
  return coding !== undefined && !/;\s*q=0(?:\.0*)?\s*$/i.test(coding)
}
