import { AwsV4Signer } from 'aws4fetch'
import type { SyncSettings } from '../registry/sync/syncRows.ts'

/** A bucket, and the keys with which it is read. */
export interface Bucket {
  readonly s3: NonNullable<SyncSettings['s3']>
  readonly secretAccessKey: string
}

/** The address of an object. */
export function objectUrl({ region, bucket, endpoint, pathStyle }: Bucket['s3'], key: string): string {
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  const base = new URL(endpoint ?? `https://s3.${region}.${domain}`)
  const path = key.split('/').map(encodeSegment).join('/')
  if (pathStyle) return `${base.origin}/${bucket}/${path}`
  return `${base.protocol}//${bucket}.${base.host}/${path}`
}

/** Signs a request for an object (Signature Version 4). The result is valid for some minutes. */
export async function signedHeaders(
  { s3, secretAccessKey }: Bucket,
  url: string,
  conditions: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const { accessKeyId, region } = s3
  const signer = new AwsV4Signer({
    url,
    method: 'GET',
    headers: { ...conditions },
    accessKeyId,
    secretAccessKey,
    service: 's3',
    region,
  })
  const { headers } = await signer.sign()
  return Object.fromEntries(headers)
}

/** By the error code of an object store, what it means for the person who has set the sync up. */
const REFUSALS: Readonly<Record<string, (bucket: Bucket['s3'], region: string | undefined) => string>> = {
  NoSuchKey: ({ bucket }) => `The bucket ${bucket} has no such object (NoSuchKey).`,
  NoSuchBucket: ({ bucket }) => `There is no bucket ${bucket} (NoSuchBucket).`,
  AccessDenied: () =>
    'The access key may not read the object, or it does not exist and the key may not list the bucket (AccessDenied).',
  InvalidAccessKeyId: () => 'The store does not know the access key (InvalidAccessKeyId).',
  SignatureDoesNotMatch: () => 'The secret access key is wrong (SignatureDoesNotMatch).',
  RequestTimeTooSkewed: () =>
    'The clock of this machine differs from that of the store by more than 15 minutes (RequestTimeTooSkewed).',
  PermanentRedirect: (s3, region) => wrongRegion(s3, region),
  TemporaryRedirect: (s3, region) => wrongRegion(s3, region),
  AuthorizationHeaderMalformed: (s3, region) => wrongRegion(s3, region),
  IllegalLocationConstraintException: (s3, region) => wrongRegion(s3, region),
}

/** What the refusal of an object store means; undefined if it is not known. */
export function objectRefusal(
  s3: Bucket['s3'],
  headers: Readonly<Record<string, unknown>>,
  body: string,
): string | undefined {
  const code = /<Code>(\w{1,100})<\/Code>/.exec(body)?.[1]
  const told = headers['x-amz-bucket-region'] ?? /<Region>([\w-]{1,64})<\/Region>/.exec(body)?.[1]
  const region = typeof told === 'string' && /^[\w-]{1,64}$/.test(told) ? told : undefined
  if (code !== undefined && Object.hasOwn(REFUSALS, code)) return REFUSALS[code]!(s3, region)
  return region !== undefined && region !== s3.region ? wrongRegion(s3, region) : undefined
}

function wrongRegion({ bucket, region }: Bucket['s3'], right: string | undefined): string {
  return right === undefined
    ? `The bucket ${bucket} is in another region than ${region}.`
    : `The bucket ${bucket} is in the region ${right}, not in ${region}.`
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.codePointAt(0)!.toString(16).toUpperCase()}`,
  )
}
