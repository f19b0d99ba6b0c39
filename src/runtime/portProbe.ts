import { createServer } from 'node:net'

/** By error code, why a port cannot be opened, and which setting to change. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not use the port. Choose one from 1024 on with --port (RINGFENCE_PORT).',
  EADDRINUSE: 'another program uses the port. Choose another port with --port (RINGFENCE_PORT).',
  EADDRNOTAVAIL:
    'the address does not belong to this machine. Choose another address with --host (RINGFENCE_HOST).',
  EAI_AGAIN: 'the host name cannot be resolved. Choose another address with --host (RINGFENCE_HOST).',
  ENOTFOUND: 'the host name cannot be resolved. Choose another address with --host (RINGFENCE_HOST).',
}

/**
 * Why an address cannot be listened on, and what to do about it. It is found out by trying, because the HTTP library
 * only reports a failure.
 */
export async function whyNotListening(host: string, port: number): Promise<string> {
  const probe = createServer()
  const code = await new Promise<string>((resolve) => {
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
    probe.listen(port, host, () => probe.close(() => resolve('')))
  })
  return REASONS[code] ?? 'choose another address with --port (RINGFENCE_PORT) or --host (RINGFENCE_HOST).'
}
