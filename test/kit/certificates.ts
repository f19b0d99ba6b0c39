/** Certificates for tests, made by openssl: a certificate authority, and a certificate that it issued. */
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Paths of PEM files. */
export interface Certificates {
  /** The certificate of the authority. */
  readonly ca: string
  /** The certificate that it issued. It serves both clients and servers, for `localhost` and 127.0.0.1. */
  readonly certificate: string
  readonly key: string
}

/** The reason to skip a test if there is no openssl; otherwise false. */
export function withoutOpenssl(): string | false {
  try {
    execFileSync('openssl', ['version'])
    return false
  } catch {
    return 'no openssl to make a certificate with'
  }
}

/** Makes them in the folder. They are valid for two days. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  const file = (name: string) => join(folder, name)
  const names = { ca: file('ca.pem'), certificate: file('server.pem'), key: file('key.pem') }
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const authority = ['-x509', ...newKey, '-days', '2', '-subj', '/CN=authority', '-keyout', file('ca.key')]
  await run('openssl', ['req', ...authority, '-out', names.ca])
  const request = [...newKey, '-subj', '/CN=server', '-keyout', names.key, '-out', file('server.csr')]
  await run('openssl', ['req', ...request])
  const uses = 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n'
  writeFileSync(file('uses'), uses)
  const signer = ['-CA', names.ca, '-CAkey', file('ca.key'), '-CAcreateserial', '-days', '2']
  const signed = ['-in', file('server.csr'), '-extfile', file('uses'), '-out', names.certificate]
  await run('openssl', ['x509', '-req', ...signer, ...signed])
  return names
}
