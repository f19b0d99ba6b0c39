/**
 * An operator of NATS with one account, as `nsc` makes them: the configuration of a server that trusts it, and
 * credentials files of users.
 */
import { nkeys } from '@nats-io/transport-node'

type Pair = ReturnType<typeof nkeys.createUser>

const UNLIMITED = { subs: -1, data: -1, payload: -1 }
const OF_ACCOUNT = { ...UNLIMITED, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 }
const OF_JETSTREAM = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 }

export function natsOperator() {
  const operator = nkeys.createOperator()
  const [account, system] = [nkeys.createAccount(), nkeys.createAccount()]
  const user = nkeys.createUser()
  const accounts = [
    [account, { ...OF_ACCOUNT, ...OF_JETSTREAM }],
    [system, OF_ACCOUNT],
  ] as const
  const preload = accounts.map(
    ([one, limits]) => `${one.getPublicKey()}: "${token(operator, one, { type: 'account', limits })}"`,
  )
  return {
    config:
      `operator: "${token(operator, operator, { type: 'operator' })}"\n` +
      `system_account: ${system.getPublicKey()}\n` +
      `resolver: MEMORY\nresolver_preload: { ${preload.join(', ')} }`,
    /** The text of a credentials file for a user with these permissions, `{ pub, sub }`. */
    credentials(permissions: object): string {
      const jwt = token(account, user, { type: 'user', ...UNLIMITED, ...permissions })
      const seed = Buffer.from(user.getSeed()).toString()
      return (
        `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n\n` +
        `-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`
      )
    },
  }
}

function token(signer: Pair, subject: Pair, nats: object): string {
  const claims = {
    jti: 'x',
    iat: Math.floor(Date.now() / 1000),
    iss: signer.getPublicKey(),
    sub: subject.getPublicKey(),
    name: 'x',
    nats: { version: 2, ...nats },
  }
  const parts = [{ typ: 'JWT', alg: 'ed25519-nkey' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const signature = signer.sign(Buffer.from(parts.join('.')))
  return [...parts, Buffer.from(signature).toString('base64url')].join('.')
}
