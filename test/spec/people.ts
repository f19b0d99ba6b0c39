import { readItems } from './item.ts'

/** People: accounts, sessions, roles and the audit log. A line without a test is not built yet, or not completely. */
export const PEOPLE_ITEMS = readItems(`
# Account (people)
_id, email, name, role, createdAt, lastSignInAt, disabled | the fields of an account | accounts/sessions.test.ts: signing in with e-mail and password; accounts/accounts.test.ts: an admin invites somebody, who sets a password and signs in
email | unique, in lower case | accounts/accounts.test.ts: accounts belong to one project, and keys cannot manage them
role | in the project, for both environments | accounts/sessions.test.ts: signing in with e-mail and password

# Roles (people)
read | every GET except keys, accounts, audit and what is of the whole process; matching and tickets | accounts/roles.test.ts: roles and endpoints; accounts/cluster.slow.test.ts: roles and endpoints
write | also geofences, beacons, imports, trips, users, events, runs of the sync, redelivery | accounts/roles.test.ts: roles and endpoints
admin | also settings, keys, webhooks, hooks, settings of the sync, accounts, audit | accounts/roles.test.ts: roles and endpoints
no session, role too low | 401, 403 | accounts/roles.test.ts: roles and endpoints
accounts and audit | for sessions only | accounts/accounts.test.ts: accounts belong to one project, and keys cannot manage them
the whole process | admins of the operator's project | e2e/numbers.test.ts: the state of the server is for the project of its operator; geodata/mapRegionUploads.slow.test.ts: who may: admins of the operator’s project, with an account or the key of live

# Endpoints (people)
POST /v1/sessions | with e-mail and password, or a secret key; who, role, environments, cookie; wrong in any way: 401, one text | accounts/sessions.test.ts: signing in with a secret key works before there is any account; accounts/sessions.test.ts: what is wrong with a sign-in is told only where it tells nothing
POST /v1/sessions | in equal time | accounts/accounts.test.ts: an unknown address takes as long as a wrong password; accounts/timing.test.ts: over HTTP, whoever may not sign in is refused in the same time
GET /v1/sessions, DELETE /v1/sessions/:id | one's own; for admins all | accounts/sessions.test.ts: one’s own sessions are listed and ended; admins see those of the project
GET, DELETE /v1/sessions/current | who am I; sign out | accounts/sessions.test.ts: signing in with a secret key works before there is any account
POST /v1/sessions/current/ticket | one use, 30 s, of this session and environment | accounts/tickets.test.ts: a ticket opens one stream; accounts/tickets.test.ts: tickets last 30 seconds, and a session has 32 at most; accounts/tickets.test.ts: a stream sees the environment of its ticket alone; accounts/cluster.slow.test.ts: a ticket of one gateway opens one stream of another
PUT /v1/account/password | ends the other sessions | accounts/accounts.test.ts: one’s own password
/v1/accounts | a link, once, for 72 hours | accounts/accounts.test.ts: an admin invites somebody, who sets a password and signs in; accounts/accounts.test.ts: a link is good for 72 hours, until there is a newer one
POST /v1/accounts/:id/invitation | a new link; older ones and all sessions end | accounts/accounts.test.ts: a new link ends all sessions of the account; the old password stays until it is used
POST /v1/invitations/:token | sets the password, signs in; used or old: 404 | accounts/accounts.test.ts: a link is good for 72 hours, until there is a newer one
GET /v1/audit | newest first, by actor, action and target | accounts/audit.test.ts: each call that changes something is entered

# Accounts (people)
first admin | npm run accounts -- add prints a link | cli/operator.slow.test.ts: accounts: the first admin gets a link, with a running server and with a stopped one
last enabled admin | cannot be demoted, disabled or deleted: 409 | accounts/accounts.test.ts: a role counts from the next request on, and the last enabled admin stays
changes of role | hold from the next request; distributed, within a second | accounts/accounts.test.ts: a role counts from the next request on, and the last enabled admin stays; accounts/cluster.slow.test.ts: a role counts on the other gateway too, within a second
idle time | written at most every five minutes | accounts/sessions.test.ts: the last use is written at most every five minutes
keySignIn | off: no signing in by key | accounts/sessions.test.ts: signing in with a key can be turned off
session of a key | admin in the key's environment, of keys only the list; ends with the key | accounts/sessions.test.ts: signing in with a secret key works before there is any account; accounts/sessions.test.ts: a session of a key ends with the key
GET /v1/keys | publishable keys whole, secret keys never | registry/http.test.ts: keys: levels, environments, rotation

# Security (people)
token | 256 random bits, stored as SHA-256 | accounts/sessions.test.ts: sessions, and only hashes of their tokens, survive a restart
cookie | HttpOnly, SameSite=Strict, Path=/; __Host- and Secure over HTTPS | accounts/sessions.test.ts: signing in with a secret key works before there is any account; accounts/sessions.test.ts: over HTTPS the cookie is __Host- and Secure
duration | 12 hours idle, 7 days in all | accounts/sessions.test.ts: a session ends after 12 hours without use, and after 7 days in any case
header and Origin | the cookie counts only beside the environment header, and on writes an own Origin | accounts/sessions.test.ts: the cookie counts only beside the environment header, and on writes an own Origin; accounts/sessions.test.ts: a page of another origin can neither sign in nor be let through by a preflight
Authorization, WebSocket | the cookie is not read | accounts/sessions.test.ts: the cookie counts only beside the environment header, and on writes an own Origin; accounts/tickets.test.ts: the cookie does not open a stream
passwords | 12 to 256 characters after NFKC, not the commonest, not the e-mail | accounts/accounts.test.ts: new passwords: 12 to 256 characters, not the commonest, not the address
scrypt | N 2^17, r 8, p 1, two at a time, parameters stored, rehashed where weaker | accounts/accounts.test.ts: the standard work: N 2^17, r 8, p 1, and two at a time; accounts/accounts.test.ts: hashes: scrypt with its parameters, rehashed at the next sign-in if they are weaker
failures | 5 per e-mail, 20 per address in 15 minutes, then 429, for unknown e-mails alike | accounts/accounts.test.ts: brute force: 5 failures of an address, 20 from an IP address, in 15 minutes
audit | each change in its transaction, and each sign-in; secrets as set or not | accounts/audit.test.ts: each call that changes something is entered; accounts/auditSweep.test.ts: the oldest ones beyond the bound go; those of an import leave the others in place; accounts/auditLong.slow.test.ts: long records over HTTP; accounts/cluster.slow.test.ts: a change on one gateway is in the audit of the other
audit | auditDays: older entries are deleted | accounts/auditSweep.test.ts: entries older than auditDays go, and the others stay
`)
