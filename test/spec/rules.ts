import { readItems } from './item.ts'

/** Every endpoint, rule, state, event and limit of the interface that is not a single parameter or field. */
export const RULE_ITEMS = readItems(`
# Conventions
definitions | a coordinate pair is [longitude,latitude] | spec/conformance.test.ts: parameters; registry/http.test.ts: a geofence is created, read, replaced and deleted
query strings | a coordinate pair is latitude,longitude | http/parts.test.ts: coordinates
returned points | [longitude, latitude] | e2e/track.test.ts: an update with everything: User and Event field by field
responses | JSON, errors included; every success carries meta.code | spec/conformance.test.ts: no endpoint answers success with another status or without meta.code; http/server.test.ts: every answer is JSON with a request id and CORS headers
bodies | application/json or application/x-www-form-urlencoded | e2e/badInput.test.ts: each parameter of each body, in JSON and as a form; e2e/track.test.ts: form-urlencoded has the same effect as JSON; registry/http.test.ts: forms have the same effect as JSON

# Capabilities
geofences | circle and polygon | actor/engine.test.ts: random worlds: the engine gives the answers of the slow evaluator
geofences | their number is unlimited | e2e/hostile.slow.test.ts: 10,000 geofences on one point
geofences | temporary, by operating hours, users, IP ranges | e2e/geofences.test.ts: disableAfter and deleteAfter take effect by themselves; e2e/geofences.test.ts: operating hours; e2e/geofences.test.ts: only for these users; rules/step.test.ts: outside: each reason of ineligibility withholds the entry; the first in order names it
beacons | ibeacon and eddystone, ranged by the client | actor/engine.test.ts: random worlds: the engine gives the answers of the slow evaluator
environments | test and live data are separate | e2e/records.test.ts: test, live and another project never meet (G8)
creation | by API | registry/http.test.ts: a geofence is created, read, replaced and deleted
creation | by CSV import | registry/import.test.ts: every column of a geofence file

# Capabilities: later (places and regions)
places | a visit to a place without a geofence | e2e/places.test.ts: a walk into a café: passing by, stopping, staying, leaving
regions | country, state, DMA and postal code in the user context | e2e/regions.test.ts: across a border: the user, the events and their order

# Capabilities: fraud (fraud)
fraud | the user can carry a fraud object | e2e/fraud.test.ts: every field of the fraud of a user; failing is an event, passing again is none

# Capabilities: isochrones (routing)
geofences | isochrone, time-based | routing/minutes.test.ts: isochrones and users in the sample city

# Geofence evaluation
1 | events are generated on the server, foreground and background | e2e/track.test.ts: an update with everything: User and Event field by field
2 | entry: enters with sufficient confidence, or stops in it with stop detection | e2e/geofences.test.ts: stop detection; e2e/geofences.test.ts: minimumConfidence; rules/step.test.ts: entry and its confidence
3 | exit: leaves with sufficient confidence | rules/step.test.ts: exit and its confidence
4 | an exit comes before the next entry | actor/engine.test.ts: random worlds: the engine gives the answers of the slow evaluator
5 | entry on the first update inside | e2e/track.test.ts: an update with everything: User and Event field by field
6 | the pair (tag, externalId) is unique; upsert updates | registry/registry.test.ts: create, upsert, replace, delete

# Confidence
values | integer 1 to 3 on every geofence event | spec/conformance.test.ts: fields
function | of accuracy and geometry: 3 completely, 2 mostly, 1 partially inside | e2e/geofences.test.ts: confidence of entry and exit; actor/engine.test.ts: random worlds: the engine gives the answers of the slow evaluator
smaller and less accurate | lower | rules/step.test.ts: entry and its confidence

# Settings
stop detection | entry needs stopped or foreground; the geofence overrides | rules/step.test.ts: the stop rule: the geofence’s own word wins both ways; exits and dwells do not ask
buffer entries | entry within the accuracy too | rules/step.test.ts: buffers: off and off, off and on, on and off, on and on, each at both edges; e2e/geofences.test.ts: buffered entries and exits
buffer exits | exit only beyond the accuracy | rules/step.test.ts: buffers: off and off, off and on, on and off, on and on, each at both edges; e2e/geofences.test.ts: buffered entries and exits
restrict to operating hours | no events outside them | e2e/geofences.test.ts: operating hours
dwell events | needed for dwell events | e2e/geofences.test.ts: dwell
beacon UUIDs and UIDs | handed to clients | registry/beaconHttp.test.ts: search: enabled ones within the radius, nearest first, with what clients range in all places

# Operating hours
currentlyOperating | on every event of a geofence with hours | e2e/geofences.test.ts: operating hours
no hours | always open | model/operatingHours.test.ts: times in both formats, days in both spellings
formats | h:mm aa and HH:mm, days full or short in any case | model/operatingHours.test.ts: times in both formats, days in both spellings

# Dwell
dwell | first update after longer than the threshold inside | rules/step.test.ts: dwell: whose threshold, strictly longer, once per visit, where the update would also enter; e2e/geofences.test.ts: dwell

# Beacons
1 | those within 1 km are synced on each update | registry/beaconStore.test.ts: nearbyBeacons: enabled ones within 1 km, nearest first, at most 100
2 | ranged by uuid, major, minor or uid, instance | registry/beaconStore.test.ts: property: near and in range agree with a check of every beacon
5 | the pair is unique; upsert updates | registry/beaconStore.test.ts: create, upsert, replace, delete; each raises the revision of its scope only
6 | entry on the first update in range | actor/engine.test.ts: random worlds: the engine gives the answers of the slow evaluator
exit | leaves range | actor/engine.test.ts: random worlds: the engine gives the answers of the slow evaluator

# Geofence
coordinates, address, placeId | one of them is required | registry/http.test.ts: every rule broken: 400 that names the field, and nothing changes
metadata.{key} | CSV: a column per key; not with metadata | registry/import.test.ts: every column of a geofence file; registry/import.test.ts: headers for which the whole file is refused
operatingHours.{day} | CSV: a column per day; not with operatingHours | registry/import.test.ts: every column of a geofence file; registry/import.test.ts: headers for which the whole file is refused
enabled | false: no events | e2e/geofences.test.ts: geofence changes reach the very next update
disableAfter, deleteAfter | disabled, deleted after it | registry/registry.test.ts: dates take effect by themselves, to the millisecond, and are stored by the sweep
userIds, userId | events only for these users | e2e/geofences.test.ts: only for these users
ip | events only for requests from these addresses | model/ipRanges.test.ts: IP ranges by example; rules/step.test.ts: outside: each reason of ineligibility withholds the entry; the first in order names it

# Geofence: address (geocoding)
address | searched; must be near the coordinates if both are given | geocoding/geofenceAreas.test.ts: coordinates win over an address, which must be near them if it is found

# Geofence: placeId (places and regions)
placeId | the place's geometry overrides the geofence's | geocoding/geofenceAreas.test.ts: a place by its _id

# Geofence: isochrone (routing)
mode, radius | travel mode and minutes | registry/isochrones.test.ts: pending, then ready; kept by edits with the same area

# User
reference | by _id, userId or deviceId | e2e/records.test.ts: a user by _id, userId and deviceId; deleting it
metadata | up to 32 keys | spec/conformance.test.ts: parameters

# User: trip (trips)
trip | present while started, approaching or arrived | e2e/tripDrive.test.ts: a user drives a trip: started, approaching, arrived, and the app ends it

# User: places and regions (places and regions)
place, country, state, dma, postalCode | when enabled | e2e/regions.test.ts: off: nothing of it on the user, and no events; e2e/regions.test.ts: across a border: the user, the events and their order; e2e/places.test.ts: off: nothing of places is in users and events, and the context has them; e2e/places.test.ts: a walk into a café: passing by, stopping, staying, leaving

# User: fraud (fraud)
fraud | booleans and dates | e2e/fraud.test.ts: every field of the fraud of a user; failing is an event, passing again is none

# States: user and geofence
outside, inside with confidence | entered | rules/step.test.ts: entry and its confidence
inside, outside with confidence | exited | rules/step.test.ts: exit and its confidence
inside longer than dwellThreshold | dwelled, stays inside | rules/step.test.ts: dwell: whose threshold, strictly longer, once per visit, where the update would also enter
second entry without an exit | no event | actor/engine.test.ts: random worlds: the engine gives the answers of the slow evaluator

# States: geofence
absent | created enabled, or disabled if enabled is false | registry/http.test.ts: every field: what is accepted, and how it comes back
exists | the same pair updates in place | registry/registry.test.ts: create, upsert, replace, delete
enabled | disabled at disableAfter | registry/registry.test.ts: dates take effect by themselves, to the millisecond, and are stored by the sweep
any | deleted at deleteAfter | registry/registry.test.ts: dates take effect by themselves, to the millisecond, and are stored by the sweep

# States: user and beacon
out of range, listed | entered | actor/waiting.test.ts: beacons
in range, left | exited | actor/waiting.test.ts: beacons

# States: trips (trips)
status | started, approaching, arrived | e2e/tripDrive.test.ts: a user drives a trip: started, approaching, arrived, and the app ends it; e2e/tripRoads.test.ts: a drive along streets: started, approaching, arrived, with the ETA of the road engine

# Endpoints
POST /v1/track | publishable, stateful | e2e/track.test.ts: both prefixes, and keys without permission
GET /v1/context | publishable, stateless | e2e/calls.test.ts: context: the boundary decides, and so does whom a geofence is for; e2e/calls.test.ts: context gives the result that a track of a new device would
GET /v1/search/users | secret | e2e/records.test.ts: secret endpoints: 403 for publishable keys, 401 for unknown ones; e2e/records.test.ts: users near a place
GET /v1/search/geofences | publishable, sorted by distance | registry/http.test.ts: search: nearest first by the boundary, filters, limits
POST /v1/geofences | creates | registry/http.test.ts: a geofence is created, read, replaced and deleted
PUT /v1/geofences/:tag/:externalId | upserts | registry/http.test.ts: a geofence is created, read, replaced and deleted
POST /v1/beacons | creates | registry/beaconHttp.test.ts: a beacon is created, read, replaced and deleted
PUT /v1/beacons/:tag/:externalId | upserts | registry/beaconHttp.test.ts: a beacon is created, read, replaced and deleted
/api/v1 | the prefix of the management paths | e2e/native.test.ts: the paths with /api of geofences and beacons

# Endpoints: track
deviceId, userId | find or create the user | e2e/track.test.ts: which user an update belongs to
updatedAt | missing or out of order: server time | e2e/track.test.ts: the time of an update
events | those that the update caused | e2e/track.test.ts: an update with everything: User and Event field by field

# Endpoints: geocoding (geocoding)
GET /v1/geocode/forward | address to coordinates | geocoding/forward.test.ts: an address with everything that is known about it
GET /v1/geocode/reverse | coordinates to address | geocoding/reverse.test.ts: an address with everything that is known about it
GET /v1/geocode/ip | requester to city, state, country | ip/geocodeIp.test.ts: an address with everything that is known about it
GET /v1/search/autocomplete | partial address or place name | geocoding/forward.test.ts: completions: the last word is a prefix unless a space or comma follows

# Endpoints: places (places and regions)
GET /v1/search/places | places near a location | geocoding/searchPlaces.test.ts: a place with everything that is known about it; e2e/searchPlaces.test.ts: a café near an address of Montevideo becomes a geofence; e2e/sdk.test.ts: searchPlaces

# Endpoints: addresses (addresses)
GET /v1/addresses/validate | a structured address | geocoding/validate.test.ts: a verified address, as the postal service writes it

# Endpoints: routing (routing)
GET /v1/route/distance | distance and duration | routing/endpoints.test.ts: distance: every mode and the geodesic, in both units; routing/endpoints.test.ts: distance: the geometry in every form; routing/endpoints.test.ts: avoid: what is named is avoided if there is another way, otherwise used; routing/endpoints.test.ts: departureTime: on the wall clock of the origin
GET /v1/route/matrix | many origins and destinations | routing/endpoints.test.ts: matrix: a row per origin; cells without a route say why
POST /v1/route/match | snap a path to roads | routing/endpoints.test.ts: match: points on roads, properties of the roads, gaps and stray points
GET /v1/route/directions | route visiting locations in order | routing/endpoints.test.ts: directions: every field of a route, its legs and steps; routing/endpoints.test.ts: directions: languages, units of texts, heading, alternatives
GET /v1/route/optimize | optimal order | routing/endpoints.test.ts: optimize: ends stay, stops between are ordered, indexes refer to the request
GET /v1/search/users mode | minutes of travel | routing/minutes.test.ts: isochrones and users in the sample city
GET /v1/search/users mode | 404 outside of all regions, and without a road nearby | routing/minutes.test.ts: search/users with a mode: 404, as the document says
GET /v1/search/users mode | 404 outside of all regions, and without a road nearby | routing/minutes.test.ts: search/users with a mode: 404, as the document says

# CSV import
upload | the first row holds the headers; each row upserts by the pair | registry/import.test.ts: every column of a geofence file
history | of past imports, per kind | registry/import.test.ts: the history, per kind and environment
geofence columns | all of them | registry/import.test.ts: every column of a geofence file
beacon columns | all of them | registry/import.test.ts: every column of a beacon file, and rows that always create
quoting | commas and quotes quoted, embedded quotes doubled | registry/csv.test.ts: reading returns what was written, cell for cell and line for line, however it arrives; registry/csv.test.ts: files as programs write them

# Geofence sync (sync)
nightly sync | HTTP, per environment | sync/runs.test.ts: a run upserts the rows of its sources, and tells what became of each; sync/runs.test.ts: one run at a time; it can be canceled; the live environment has its own
nightly sync | object storage: GetObject, SigV4, ETags | sync/objects.test.ts: objects are read with a signature, and by their ETag only once; sync/objects.test.ts: the signature is the one of the published rules
object storage | NoSuchKey, NoSuchBucket, AccessDenied, a wrong region and a wrong clock by name | sync/objects.test.ts: what is wrong is told by name; sync/objects.test.ts: another region, a wrong clock, a bucket that may not be read
fetch | at most syncMaxBytes, 30 s without a byte, 30 min in all; another length, a broken gzip: failed | sync/hostile.slow.test.ts: servers that stall, cut off, lie or send too much; sync/changing.test.ts: it breaks off, and the next attempt gets another content; sync/changing.test.ts: the body goes on with another content
reach | redirects, secrets to the same origin, private addresses | sync/hostile.slow.test.ts: redirects: five at most, secrets only to the same origin, and no private address on the way
rows | 1,000 refused rows are kept, a row of 10 MB, 5,000,000 pairs | sync/hostile.slow.test.ts: over a server: 1,000 bad rows and one more, a row of 10 MB, many rows; sync/rowsReader.test.ts: the pairs of all sources together are bounded
nightly sync | with an e-mail | sync/objects.test.ts: a bucket of geofences with a typing mistake in one row: an e-mail that says which; notify/mails.test.ts: a run with a typing mistake: an e-mail that says which; notify/mails.test.ts: who is told of what; notify/mails.test.ts: what is held back, and eleven refused rows
notifications | one e-mail a cause, queued durably, tried for 24 h, final on a 5xx; it never fails a run | notify/mails.test.ts: e-mails wait on the disk while the process is killed; notify/mails.test.ts: a message that is refused for good, and no mail server; notify/attempts.test.ts: an e-mail is tried for a day, with pauses that grow; notify/mails.test.ts: one of ten addresses is refused, another one is asked to wait; notify/mailJob.test.ts: greylisted: tried again after a minute, with the same Message-ID, and only where it was not accepted; notify/mailJob.test.ts: a server that hangs: the attempt ends in time, and nobody counts as refused
notifications | a webhook that pauses, a quota used to 90 %, a disk with less than 10 % free; the last two at most once a day | notify/mails.test.ts: a webhook that pauses; notify/attempts.test.ts: a quota of which 90 % is used is told once a day, once to each address; notify/attempts.test.ts: a disk with less than 10 % free is told once a day; cluster/notices.slow.test.ts: four processes on a disk that is nearly full: one e-mail; cluster/notices.slow.test.ts: a quota is used by requests to two gateways: one e-mail
notifications | no CR or LF of data in headers | notify/attempts.test.ts: data stay on their line; notify/mails.test.ts: a name with line ends does not add headers
notifications | notConfigured without a mail server | notify/mails.test.ts: without a mail server
POST /v1/notifications/test | five an hour, admin | notify/mails.test.ts: POST /v1/notifications/test; cluster/nights.slow.test.ts: test e-mails: five an hour, whichever gateway is asked; dashboard/flows.slow.test.ts: flows
settings | every rule, else 400 with param | sync/settings.test.ts: settings: every rule of every field
secrets | left out they stay, null removes; none goes to another host | sync/settings.test.ts: secrets: left out they stay, null removes them, and none goes to another host
secrets | encrypted; key by option or file of mode 0600; in no log | sync/settings.test.ts: secrets lie encrypted, with a key that only the owner can read, and stand in no log; sync/settings.test.ts: a sealed text opens with its key, in its environment, unchanged
POST /v1/geofence-sync/test | header and 10 rows of each source | sync/settings.test.ts: each source can be tried: its header and ten rows
one at a time | per environment, across hosts: a fenced lease | sync/runner.test.ts: two hosts at three o’clock: one run; sync/runner.test.ts: who lost a run writes no more; cluster/nights.slow.test.ts: two gateways at the minute of the night: one run, one e-mail
interrupted | begun again once | sync/runs.test.ts: a run whose process is killed is interrupted, and begun again once; sync/killed.slow.test.ts: killed at each step and begun again, in the embedded engine; sync/killed.slow.test.ts: killed at each step and begun again by another host, in the distributed engine; cluster/nights.slow.test.ts: a gateway is killed while it fetches, and while the mail server hangs: the other goes on
missed | made up for if under 12 h late | sync/runner.test.ts: a run each night; one that was missed is made up for within twelve hours
time zones | skipped: the minute after; repeated: the first | sync/schedule.test.ts: a time that the clock skips: the minute after; one that it repeats: the first; sync/runner.test.ts: two hosts through nights whose clocks skip and repeat the time of the run: one run a date
fetch | whole, before a row counts | sync/runs.test.ts: nothing counts before all sources are there and were read to the end
gzip | by Content-Encoding, Content-Type or name | sync/runs.test.ts: gzip by its header, its type or its name; a broken one fails
conditional | ETag, date, SHA-256; not with force, nor after refused rows | sync/runs.test.ts: sources that did not change are not read: by ETag, by date, by content; but with force, and after refused rows
rows | equal definitions are not written | sync/runs.test.ts: equal definitions are not written
deletion | of what runs wrote and nobody wrote since; the guard | sync/runs.test.ts: what its own date has disabled is deleted too, unless somebody wrote it since; sync/runs.test.ts: what no source names any more is deleted, within the guard, and only what runs wrote; sync/runs.test.ts: a pair that an unchanged source names stays
retries | 10 s, 1 min, 5 min; Retry-After up to 30 min; others fail at once | sync/runner.test.ts: a source is tried again after 10 seconds, one minute and five, or when the server says; others fail at once
dryRun | all but writes | sync/runs.test.ts: a dry run counts and writes nothing

# Authentication
1 | a key in the Authorization header on every request | http/server.test.ts: keys are checked before limits, and limits before parameters
2 | four keys per project | registry/http.test.ts: keys: levels, environments, rotation
3 | publishable endpoints take publishable keys | e2e/track.test.ts: both prefixes, and keys without permission
4 | secret endpoints take secret keys only | e2e/records.test.ts: secret endpoints: 403 for publishable keys, 401 for unknown ones
5 | live tells the key's environment | e2e/track.test.ts: a live key creates live records

# Events
user.entered_geofence | geofence, confidence, locationAccuracy, location | e2e/track.test.ts: an update with everything: User and Event field by field
user.exited_geofence | same shape | e2e/geofences.test.ts: confidence of entry and exit
user.dwelled_in_geofence | needs the setting | e2e/geofences.test.ts: dwell
user.entered_beacon | with beacons ranged | actor/waiting.test.ts: beacons
user.exited_beacon | with beacons ranged | actor/waiting.test.ts: beacons
beacon events | delivered like geofence events | spec/conformance.test.ts: fields

# Events: places (places and regions)
user.entered_place | carries place | e2e/places.test.ts: a walk into a café: passing by, stopping, staying, leaving

# Errors
meta | code, param, message | spec/conformance.test.ts: fields
200 | success | spec/conformance.test.ts: no endpoint answers success with another status or without meta.code
400 | bad request, param named | spec/conformance.test.ts: parameters
401 | invalid key | e2e/records.test.ts: secret endpoints: 403 for publishable keys, 401 for unknown ones
402 | project disabled or usage exceeded | e2e/limits.test.ts: a project over its quota, or disabled, is answered 402
403 | insufficient permissions | e2e/records.test.ts: secret endpoints: 403 for publishable keys, 401 for unknown ones
404 | not found | e2e/badInput.test.ts: 404, 405, 413, 415 and HEAD
409 | conflict: the pair exists | registry/http.test.ts: a geofence is created, read, replaced and deleted
429 | rate limit exceeded | e2e/track.test.ts: rate limits and trusted proxies
500 | internal error | http/server.test.ts: answers of handlers
503 | temporarily unavailable | actor/host.test.ts: beyond its limit a submission is refused with 503; then there is room again

# Errors: later (places and regions)
202 | accepted: only where asked for, beyond one machine | e2e/track.test.ts: Prefer: respond-async is answered before the update is applied
451 | country blocklisted | e2e/fraud.test.ts: countries: 451 for tracks and contexts, and nothing is stored

# Rate limits
POST /v1/track | 1 per device | actor/host.test.ts: a second one within the second is refused and changes nothing
GET /v1/context | 10 | e2e/limits.test.ts: rate limits are those of the table, with the changes of the operator
GET /v1/search/users | 100 | e2e/limits.test.ts: rate limits are those of the table, with the changes of the operator
GET /v1/search/geofences | 100 | e2e/limits.test.ts: rate limits are those of the table, with the changes of the operator

# Rate limits: geocoding (geocoding)
GET /v1/geocode/forward | 10 | e2e/limits.test.ts: rate limits are those of the table, with the changes of the operator
GET /v1/geocode/reverse | 10 | e2e/limits.test.ts: rate limits are those of the table, with the changes of the operator
GET /v1/geocode/ip | 10 per device | http/parts.test.ts: every endpoint finds its rate limit; ip/geocodeIp.test.ts: GeoLite2: names in the language of the answer, postal code, layers; the limit of requests
GET /v1/search/autocomplete | 10 | e2e/limits.test.ts: rate limits are those of the table, with the changes of the operator

# Rate limits: places (places and regions)
GET /v1/search/places | 150 | e2e/limits.test.ts: rate limits are those of the table, with the changes of the operator

# Rate limits: addresses (addresses)
GET /v1/addresses/validate | 100 | e2e/limits.test.ts: rate limits are those of the table, with the changes of the operator

# Rate limits: routing (routing)
GET /v1/route/distance | 100 | e2e/limits.test.ts: rate limits are those of the table, with the changes of the operator
GET /v1/route/matrix | 20 | e2e/limits.test.ts: rate limits are those of the table, with the changes of the operator
POST /v1/route/match | 10 | e2e/limits.test.ts: rate limits are those of the table, with the changes of the operator
GET /v1/route/directions | 10 | e2e/limits.test.ts: rate limits are those of the table, with the changes of the operator
GET /v1/route/optimize | 10 | e2e/limits.test.ts: rate limits are those of the table, with the changes of the operator

# Attacks
names | no answer says what a name resolves to, or whether it exists | e2e/privateNames.test.ts: webhooks: the test button; e2e/privateNames.test.ts: webhooks and hooks: what they say of themselves after an event; e2e/privateNames.test.ts: the sources of a sync; sync/hostile.slow.test.ts: redirects: five at most, secrets only to the same origin, and no private address on the way
bodies that never end | memory is bounded, and others are answered | e2e/slowSenders.slow.test.ts: bodies that never end, on 80 connections; e2e/slowSenders.slow.test.ts: bodies that never end, on 2,000 connections; e2e/kept.slow.test.ts: old incomplete bodies give way to new ones
bodies in tiny pieces | refused | http/bodies.test.ts: a body in very many small pieces is refused; http/bodies.test.ts: of very many small pieces that come at the same time, some bodies are refused

# Attacks
names | no answer says what a name resolves to, or whether it exists | e2e/privateNames.test.ts: webhooks: the test button; e2e/privateNames.test.ts: webhooks and hooks: what they say of themselves after an event; e2e/privateNames.test.ts: the sources of a sync; sync/hostile.slow.test.ts: redirects: five at most, secrets only to the same origin, and no private address on the way
bodies that never end | memory is bounded, and others are answered | e2e/slowSenders.slow.test.ts: bodies that never end, on 80 connections; e2e/slowSenders.slow.test.ts: bodies that never end, on 2,000 connections; e2e/kept.slow.test.ts: old incomplete bodies give way to new ones
bodies in tiny pieces | refused | http/bodies.test.ts: a body in very many small pieces is refused; http/bodies.test.ts: of very many small pieces that come at the same time, some bodies are refused

# Sizes
geofence metadata | up to 16 keys | spec/conformance.test.ts: parameters
beacon metadata | up to 16 keys | spec/conformance.test.ts: parameters
user metadata | up to 32 keys | spec/conformance.test.ts: parameters
polygon ring | 4 to 2,000 coordinates | spec/conformance.test.ts: parameters; e2e/hostile.slow.test.ts: a polygon of 2,000 points, the device on a vertex
circle radius | 10 to 10000 m | spec/conformance.test.ts: parameters
beacon sync distance | 1 km | registry/beaconStore.test.ts: nearbyBeacons: enabled ones within 1 km, nearest first, at most 100
search users | limit 1 to 100, radius 100 to 10000 | spec/conformance.test.ts: parameters
search geofences | limit 1 to 1000, over 100 without geometry | spec/conformance.test.ts: parameters
track accuracy | greater than 0 | spec/conformance.test.ts: parameters

# Sizes: routing (routing)
matrix | up to 625 routes | spec/conformance.test.ts: parameters
directions | up to 25 locations | routing/endpoints.test.ts: 25 locations
optimize | up to 10 locations | spec/conformance.test.ts: parameters

# Sizes: geocoding (geocoding)
autocomplete limit | 1 to 100, default 10 | e2e/requiredFields.test.ts: each wrong value of each parameter of a query or path is refused by name

# Sizes: places (places and regions)
search places | limit 1 to 100, radius 1 to 10000 | e2e/requiredFields.test.ts: each wrong value of each parameter of a query or path is refused by name

# Versioning
path prefix | /v1 | e2e/native.test.ts: the paths with /api of geofences and beacons
userId of a geofence | deprecated in favour of userIds, still read | e2e/geofences.test.ts: only for these users
`)
