import { readItems } from './item.ts'

/** Every rule of trips. */
export const TRIP_ITEMS = readItems(`
# Trips: settings (trips)
tripApproachingThreshold | 5 minutes; a trip's own comes first, then its destination geofence's; null: none | trips/eta.test.ts: the threshold: a trip’s own, else its destination’s, else the project’s; e2e/tripRules.test.ts: approaching: by the trip’s own minutes, else its destination’s, else the project’s
tripExpirationMinutes | 1440; null: never | trips/machine.test.ts: a trip expires after its creation, start and scheduled arrival; trips/retention.test.ts: each trip expires at its deadline, whatever moves that between two runs of the job
tripDelayThreshold | null; minutes; null: delayed stays false, no D | trips/machine.test.ts: delay: how late the arrival is predicted, and one event when that is too late; e2e/tripRules.test.ts: a trip that will be late: one event, when that is known
tripWrongDestinationEvents | false; W is made | trips/machine.test.ts: the wrong destination: same tag, not beside an arrival, only where the setting is on; e2e/tripRules.test.ts: an update moves all trips of its user: events by trip, the first created first
tripUpdateSeconds | 30; least t between two U that updates make; a call's U is always made | trips/machine.test.ts: updated: not more often than tripUpdateSeconds; a call’s always
tripEtaSeconds | 30; least t between two ETAs | trips/eta.test.ts: a way is measured at the first update, then after tripEtaSeconds and 50 m
GET and PATCH /v1/settings | the six settings | e2e/trips.test.ts: settings of trips
tripsDays | ended trips go 90 days after updatedAt | trips/retention.test.ts: trips that have ended go tripsDays after their last change, active ones stay
tripLocationsDays | locations go after 7 days | trips/retention.test.ts: locations go tripLocationsDays after the last change of their trip, of active ones too

# Trips: endpoints (trips)
POST /v1/trips | publishable; trip, events | e2e/trips.test.ts: POST creates a trip, pending, without events
PATCH /v1/trips/:id/update | publishable; trip, events | e2e/trips.test.ts: PATCH: status, fields, events; both paths
PATCH /v1/trips/:id | the same; creates one without a trip of that externalId | e2e/trips.test.ts: PATCH of a name without a trip: /update is 404, the path of 2021 creates one
PATCH /v1/trips/:id/legs/:legId | publishable; trip, leg, events | e2e/trips.test.ts: PATCH of a leg, PUT of their order
PUT /v1/trips/:id/legs | publishable; trip, events | e2e/trips.test.ts: PATCH of a leg, PUT of their order
GET /v1/trips | secret; trips, meta.hasMore | e2e/trips.test.ts: list: filters, order, pages
GET /v1/trips/:id | secret; trip, its fields at the root too | e2e/trips.test.ts: POST of an active trip changes its fields; of one that has ended, it makes another
GET /v1/trips/:id/route | secret; distance, geometry, matched | e2e/tripDrive.test.ts: the way of a trip that has ended: without roads the line through its locations
DELETE /v1/trips/:id | secret; meta only | e2e/trips.test.ts: DELETE: gone, no event; unknown: 404
status | always 200 with JSON; the key's environment only | e2e/trips.test.ts: keys and environments
:id | _id, else externalId: the active trip, else the latest created; may hold / before /update; unknown: 404 | e2e/trips.test.ts: names as clients write them; e2e/trips.test.ts: POST of an active trip changes its fields; of one that has ended, it makes another
bodies | JSON or form, PATCH too | e2e/trips.test.ts: forms, PATCH too
limits | publishable 10 per address, secret as management, route 100 | e2e/limits.test.ts: trips: phones by address, servers as management, routes on their own
what a publishable key sees | locations is []; user and location only where the body's userId is the trip's | e2e/trips.test.ts: what a publishable key sees

# Trips: body (trips)
externalId | 1 to 256 characters; required by POST, ignored by PATCH | e2e/trips.test.ts: bad input is 400 and names the parameter; nothing changes; e2e/trips.test.ts: PATCH: status, fields, events; both paths
userId | set on a trip without one; another than the trip's: 400 | trips/machine.test.ts: userId: set on a trip without one; another than the trip’s is refused
userId | at most 50 active trips a user | e2e/trips.test.ts: at most 50 active trips a user
destinationGeofenceTag, destinationGeofenceExternalId | both or none | e2e/trips.test.ts: bad input is 400 and names the parameter; nothing changes
destinationGeofenceTag, destinationGeofenceExternalId | must exist, checked where they change and the trip does not end | trips/machine.test.ts: a destination must exist where it changes and the trip does not end
destinationGeofenceTag, destinationGeofenceExternalId | on a trip with legs 400 unless as answered | trips/legs.test.ts: PATCH legs replaces the open ones: a known one keeps its state, closed ones stay
mode | car (default), truck, foot, bike, motorbike | e2e/trips.test.ts: POST creates a trip, pending, without events; e2e/trips.test.ts: bad input is 400 and names the parameter; nothing changes
approachingThreshold | minutes, number or its text, above 0 to 1440 | e2e/trips.test.ts: POST creates a trip, pending, without events; e2e/trips.test.ts: bad input is 400 and names the parameter; nothing changes
scheduledArrivalAt | date or ms; may be past | e2e/trips.test.ts: scheduledArrivalAt: a date or milliseconds, which may be past
metadata | as a user's; object or JSON text; replaces the whole | e2e/trips.test.ts: POST creates a trip, pending, without events; e2e/trips.test.ts: POST of an active trip changes its fields; of one that has ended, it makes another
legs | 1 to 25; not beside a destination | trips/legs.test.ts: PATCH legs replaces the open ones: a known one keeps its state, closed ones stay; e2e/tripRules.test.ts: 25 legs are the most; an address counts before coordinates, a geofence before both
status | six values; expired and others 400; ignored by POST | e2e/trips.test.ts: bad input is 400 and names the parameter; nothing changes; e2e/trips.test.ts: POST creates a trip, pending, without events
null and "" | mean absent | e2e/trips.test.ts: null and empty texts mean absent, as after a restart of an Android app
400 | nothing changes | e2e/trips.test.ts: bad input is 400 and names the parameter; nothing changes; e2e/trips.test.ts: a refused POST leaves its name free
a leg | its destination in four forms, arrivalRadius, stopDuration, metadata, on the leg itself too; the first form counts | e2e/trips.test.ts: legs: their destinations in four forms, on the leg itself too; e2e/tripRules.test.ts: 25 legs are the most; an address counts before coordinates, a geofence before both
a leg's address | geocoded once, without result 400 | e2e/tripRoads.test.ts: the address of a leg is geocoded once; one that is not found is refused
PATCH legs | replaces the open legs: a known _id keeps its state, closed legs stay | trips/legs.test.ts: PATCH legs replaces the open ones: a known one keeps its state, closed ones stay
list | filters, sortBy, limit, bounds, before; descending | e2e/trips.test.ts: list: filters, order, pages; e2e/trips.test.ts: list: the latest locations of each trip
route | of an ended trip with two or more locations, else 400; matched; the line where nothing matches | e2e/tripDrive.test.ts: the way of a trip that has ended: without roads the line through its locations; e2e/tripRoads.test.ts: a drive along streets: started, approaching, arrived, with the ETA of the road engine

# Trips: record (trips)
trip | every field, absent where unknown | e2e/tripDrive.test.ts: a record has every field, and none that is unknown
user | who moved it last; before that the userId's latest record | e2e/tripDrive.test.ts: a user drives a trip: started, approaching, arrived, and the app ends it
updatedAt | now of the last change or location | trips/machine.test.ts: times: t of the update, now of a call; going back from arrived clears arrivedAt
eta | duration with one decimal, distance, source | trips/eta.test.ts: property: an ETA has one decimal, is never negative, and is 0 once arrived
user.trip, event.trip | without user, locations | e2e/tripDrive.test.ts: a user drives a trip: started, approaching, arrived, and the app ends it; e2e/trips.test.ts: PATCH: status, fields, events; both paths
leg | every field | e2e/trips.test.ts: legs: their destinations in four forms, on the leg itself too
with legs | destination of the current leg, eta of the last one | trips/eta.test.ts: a leg’s ETA counts the stops before it, of an arrived one the rest; e2e/tripRules.test.ts: legs on the way: each arrives, the departure starts the next, the last one stays
locations | the first, then each 30 s or 30 m; at 5,000 every other of the older half goes | trips/tripTable.test.ts: locations: the first, then each 30 s or 30 m after the last kept; trips/tripTable.test.ts: locations: at 5,000 every other one of the older half goes

# Trips: which trips an update moves (trips)
1 | all active trips of its userId, whatever the device | cluster/trips.slow.test.ts: the whole life of trips is the same in both engines; e2e/tripRules.test.ts: an update moves all trips of its user: events by trip, the first created first
2 | tripOptions.externalId: bound to this device, and to the userId | e2e/tripDrive.test.ts: tripOptions make the trip, change nothing of it later, and never restart it; e2e/tripRules.test.ts: tripOptions bind a trip without a userId to the device, and to its userId
3 | no trip of that name, none deleted in the last 24 h: it is created | e2e/tripDrive.test.ts: tripOptions make the trip, change nothing of it later, and never restart it; e2e/tripDrive.test.ts: a deleted trip is not made again, and a deleted user takes the trip along
3 | a destination that does not exist yet counts once it does | trips/machine.test.ts: a destination that does not exist yet counts once it does
4 | tripOptions change nothing of a trip that exists, never restart one, do nothing to another user's; a wrong shape is 400 | e2e/tripDrive.test.ts: tripOptions make the trip, change nothing of it later, and never restart it; e2e/tripDrive.test.ts: tripOptions of a wrong shape are refused by name; e2e/tripRules.test.ts: tripOptions bind a trip without a userId to the device, and to its userId
5 | an update with t before the trip's last leaves it; a worse one than maxAccuracyMeters only starts it | trips/machine.test.ts: an update before the last leaves the trip as it is; an inaccurate one only starts it; e2e/tripRules.test.ts: an inaccurate update only starts a trip; one from before leaves it
5 | deviceId anonymous has no trips | e2e/tripDeliveries.test.ts: the device \`anonymous\` has no trips
user.trip | with tripOptions that trip if it may be moved and is started, approaching or arrived, else absent | e2e/tripDrive.test.ts: tripOptions make the trip, change nothing of it later, and never restart it; e2e/tripRules.test.ts: an update moves all trips of its user: events by trip, the first created first
user.trip | without tripOptions the latest started of those of 1 | e2e/tripDrive.test.ts: a user drives a trip: started, approaching, arrived, and the app ends it; e2e/tripRules.test.ts: an update moves all trips of its user: events by trip, the first created first
GET /v1/users | the latest started of the record | e2e/tripDrive.test.ts: a user drives a trip: started, approaching, arrived, and the app ends it; e2e/tripRules.test.ts: an update moves all trips of its user: events by trip, the first created first

# Trips: status and input (trips)
POST of a new name | pending; none | e2e/trips.test.ts: POST creates a trip, pending, without events
POST | as PATCH without status, same _id; after its end a new trip | trips/table.test.ts: POST, the same; e2e/tripTable.test.ts: POST, a change; e2e/tripTable.test.ts: POST, no change
PATCH without status | U; on an ended trip only metadata | trips/table.test.ts: a field changes; trips/machine.test.ts: fields change before the status; on a trip that has ended, only metadata; e2e/tripTable.test.ts: PATCH, a change
PATCH pending | its row | trips/table.test.ts: PATCH pending; e2e/tripTable.test.ts: PATCH pending
PATCH started | its row | trips/table.test.ts: PATCH started; e2e/tripTable.test.ts: PATCH started
PATCH approaching | its row | trips/table.test.ts: PATCH approaching; e2e/tripTable.test.ts: PATCH approaching
PATCH arrived | its row | trips/table.test.ts: PATCH arrived; e2e/tripTable.test.ts: PATCH arrived
PATCH completed, canceled | its row | trips/table.test.ts: PATCH completed; trips/table.test.ts: PATCH canceled; e2e/tripTable.test.ts: PATCH completed; e2e/tripTable.test.ts: PATCH canceled
update, outside | its row | trips/table.test.ts: update, outside; e2e/tripTable.test.ts: update, outside
update, ETA within the threshold | its row | trips/table.test.ts: update, near; e2e/tripTable.test.ts: update, near
update, in the destination | its row | trips/table.test.ts: update, inside; e2e/tripTable.test.ts: update, inside
update, entered another geofence of the tag | its row | trips/table.test.ts: update, wrong; e2e/tripTable.test.ts: update, wrong
update, left the destination | its row | trips/table.test.ts: update, left; trips/legs.test.ts: the current leg is the first; it arrives, and its departure starts the next; e2e/tripTable.test.ts: update, left
destination geofence edited | the next update sees it | trips/table.test.ts: fence moved here; trips/eta.test.ts: a way is measured again after destination, mode or legs have changed; e2e/tripTable.test.ts: edited, then there
deleted, disabled, not for this user | becomes a point with its last radius | trips/table.test.ts: fence gone, there; trips/machine.test.ts: a point is entered under stop rule, buffers and minimumConfidence, without delays; e2e/tripTable.test.ts: deleted, then there; e2e/tripTable.test.ts: disabled, then there; e2e/tripTable.test.ts: for others, then there
time | expired; X | trips/table.test.ts: time; e2e/tripTable.test.ts: time; cluster/trips.slow.test.ts: trips expire once, at their deadline, whoever owns their partitions by then
its user's record deleted | canceled; X; user, userId, locations of all go | e2e/tripDrive.test.ts: a deleted trip is not made again, and a deleted user takes the trip along; cluster/trips.slow.test.ts: the whole life of trips is the same in both engines; e2e/tripTable.test.ts: user removed; e2e/tripRules.test.ts: an erased user is in no trip any more, however little the trip knew of them
DELETE | gone, no event | e2e/trips.test.ts: DELETE: gone, no event; unknown: 404; e2e/tripTable.test.ts: DELETE
fields | change before the status | trips/machine.test.ts: fields change before the status; on a trip that has ended, only metadata
restart | same _id, a new run; 400 while another active trip has the externalId | e2e/trips.test.ts: a trip that has ended is restarted under its \`_id\`
going back from arrived | clears arrivedAt; only so can A and R come again | trips/machine.test.ts: times: t of the update, now of a call; going back from arrived clears arrivedAt
arrival | the destination is among user.geofences, also if it was before the trip | trips/machine.test.ts: arrival: among the geofences, also if it was before the trip
arrival | a point: stop rule, buffers, minimumConfidence; only crossed is not reached | trips/machine.test.ts: a point is entered under stop rule, buffers and minimumConfidence, without delays
W | only while started or approaching, on this update's entry, same tag, no open leg's, not beside R | trips/machine.test.ts: the wrong destination: same tag, not beside an arrival, only where the setting is on
order in one answer | other events, then by trip S, W, A, R, D, U; U where none of S, W, A, R did | e2e/tripDrive.test.ts: a replay moves the trip through all of its updates, in order; e2e/tripRules.test.ts: an update moves all trips of its user: events by trip, the first created first; e2e/eventOrder.test.ts: a track: regions, geofences, places, chains, beacons, fraud, trips
names | none of them, nor user.fired_trip_orders, is a conversion's | e2e/tripDeliveries.test.ts: names of the events are no conversions
an event | the usual fields, trip after the whole step; location and createdAt of the update, by API and time where the user was last and now | e2e/tripDrive.test.ts: a user drives a trip: started, approaching, arrived, and the app ends it; e2e/trips.test.ts: PATCH: status, fields, events; both paths
tag filters | look at destinationGeofenceTag | e2e/tripDrive.test.ts: a user drives a trip: started, approaching, arrived, and the app ends it; e2e/tripDeliveries.test.ts: webhooks, server-sent events, streams and lists

# Trips: legs (trips)
current | the first open leg, unless PATCH made another so; each its A, R; others pending; the end of the trip ends them | trips/legs.test.ts: the current leg is the first; it arrives, and its departure starts the next; trips/legs.test.ts: ending the trip gives its open legs the same end; a restart clears them; e2e/tripRules.test.ts: legs on the way: each arrives, the departure starts the next, the last one stays
departure | the leg is completed, the next one started; the last open one stays arrived | trips/legs.test.ts: the current leg is the first; it arrives, and its departure starts the next; e2e/tripRules.test.ts: legs on the way: each arrives, the departure starts the next, the last one stays
PATCH leg | started, approaching, arrived | trips/legs.test.ts: PATCH of a leg: started, approaching and arrived make it current
PATCH leg | completed, canceled, pending, refusals | trips/legs.test.ts: PATCH of a leg: completed and canceled close it; the last one ends the trip; e2e/tripRules.test.ts: a status that no leg can be given is refused
PUT legs | every open leg once; an arrived one stays current | trips/legs.test.ts: PUT legs: names every open leg once; the first open one is started

# Trips: ETA and delay (trips)
way | road engine, the trip's mode, through the open legs in order; a leg's includes stops before it | trips/eta.test.ts: a leg’s ETA counts the stops before it, of an arrived one the rest; e2e/tripRoads.test.ts: a drive along streets: started, approaching, arrived, with the ETA of the road engine
when | first update of a run, tripEtaSeconds and 50 m, changes, before A | trips/eta.test.ts: a way is measured at the first update, then after tripEtaSeconds and 50 m; trips/eta.test.ts: a way is measured again after destination, mode or legs have changed; trips/eta.test.ts: before a trip is approaching, a way that is older than 5 s is measured again
in between | scaled with the straight line, by two at most; reads compute nothing; arrived 0, 0 | trips/eta.test.ts: in between it is scaled with the straight line, by two at most
no road | straight line times 1.3 at the speed of the mode | trips/eta.test.ts: as the crow flies: 1.3 times the line at the speed of the mode
no road | no region, no road within 1 km, no way, engine busy or over 1 s | e2e/tripRoads.test.ts: no road within 1 km, or no region: the straight line; routing/roadWays.test.ts: no region, no way, or a failure of the engine: unknown; routing/roadWays.test.ts: four are measured at a time, 500 wait for it, beyond that and after a second they are unknown
delay | predicted less scheduled; D once | trips/machine.test.ts: delay: how late the arrival is predicted, and one event when that is too late; e2e/tripRules.test.ts: a trip that will be late: one event, when that is known

# Trips: bad input (trips)
unknown destinations | 400 in calls; of tripOptions counts once it exists | e2e/trips.test.ts: bad input is 400 and names the parameter; nothing changes; trips/machine.test.ts: a destination that does not exist yet counts once it does
two devices of one user | both move its trips; an update from before leaves them | e2e/tripTroubles.test.ts: two devices of one user move the same trip
an externalId with slashes | and other characters, encoded or not | e2e/trips.test.ts: names as clients write them
51 active trips | the last one is refused | e2e/trips.test.ts: at most 50 active trips a user
legs of another trip | 404 or 400, nothing changes | e2e/tripTroubles.test.ts: legs of another trip are unknown, and nothing changes; e2e/trips.test.ts: PATCH of a leg, PUT of their order
status texts in capitals | 400 | e2e/trips.test.ts: bad input is 400 and names the parameter; nothing changes
thresholds of 0 and 1e9 | 400, as texts too | e2e/trips.test.ts: bad input is 400 and names the parameter; nothing changes; e2e/tripTroubles.test.ts: numbers as texts, as iOS sends them
iOS's texts for numbers | are the numbers | e2e/tripTroubles.test.ts: numbers as texts, as iOS sends them
Android's empty strings | mean absent | e2e/trips.test.ts: null and empty texts mean absent, as after a restart of an Android app
PATCH of an ended trip | the same end is harmless, only metadata changes | e2e/tripTroubles.test.ts: PATCH of a trip that has ended: the same end is harmless, another one is refused
DELETE and tripOptions a second later | no trip is made | e2e/tripDrive.test.ts: a deleted trip is not made again, and a deleted user takes the trip along
a user deleted in the middle | canceled, without user and locations | e2e/tripTroubles.test.ts: a user who is deleted in the middle; e2e/tripRules.test.ts: an erased user is in no trip any more, however little the trip knew of them
a destination edited | the next update sees it | e2e/tripTroubles.test.ts: a destination that is made smaller around the device
a destination disabled | becomes a point; who has arrived stays so | e2e/tripTroubles.test.ts: a destination that is disabled and enabled again under the device
a destination deleted, or meant for others | becomes a point | trips/table.test.ts: fence gone, there; trips/machine.test.ts: a point is entered under stop rule, buffers and minimumConfidence, without delays
a destination moved under the device | the next update arrives | e2e/tripTroubles.test.ts: a destination that is moved under the device
replays of an hour in one body | each update once, in order | e2e/tripTroubles.test.ts: an hour of updates in one body, in the order of their times
clocks that go back | the update counts as of its arrival | e2e/tripTroubles.test.ts: a clock that goes back: the update counts as of its arrival, and the trip goes on

# Trips: guarantees (trips)
directory | one active trip has an externalId; which userIds have active trips; by compare-and-set | registry/trips.test.ts: of two processes that take a name at once, both get the same trip; registry/trips.test.ts: names and users are there after a restart
T1 | a committed update moves each of its trips exactly once, in the device's order | trips/crashes.test.ts: property: a process that ends anywhere leaves the trips of one that never ended; cluster/trips.slow.test.ts: owners are killed while devices move trips of other partitions; cluster/tripWeather.slow.test.ts: property: trips are the same in both engines
T2 | track answers after both commits; without an answer in 2 s the trip as the device last saw it, or 503 | trips/dispatcher.test.ts: an answer waits for its trips, not long, and then gets what the device saw last; cluster/trips.slow.test.ts: owners are killed while devices move trips of other partitions
T3 | the answer to POST or PATCH is seen by every later track | cluster/trips.slow.test.ts: a call is seen by tracks within a second, wherever they arrive; e2e/tripDrive.test.ts: a user drives a trip: started, approaching, arrived, and the app ends it; cluster/trips.slow.test.ts: a call is seen by the very next track that names the trip, wherever it arrives
T4 | events of a trip are in order, and visible only after the commit of their update | trips/crashes.test.ts: property: a process that ends anywhere leaves the trips of one that never ended; cluster/trips.slow.test.ts: owners are killed while devices move trips of other partitions; cluster/tripWeather.slow.test.ts: property: trips are the same in both engines
rows | a device has at most 1,000 unacknowledged, then 503 | trips/dispatcher.test.ts: beyond a thousand rows of a device its updates are refused with 503, others are not
ends before the device's commit | nothing happened | trips/crashes.test.ts: property: a process that ends anywhere leaves the trips of one that never ended; crash/tripPoints.slow.test.ts: a server ends at each point between an update and its trips; trips/shortcut.test.ts: without its frame neither the device nor the trip has moved
ends after it, row not sent or ETA under way | the next owner sends it before newer ones; one step | trips/crashes.test.ts: property: a process that ends anywhere leaves the trips of one that never ended; trips/dispatcher.test.ts: a new owner tells what the one before has not; trips/delivery.test.ts: a row that its trip’s end kept from moving does not make the trip whose name is taken since; crash/tripPoints.slow.test.ts: a server ends at each point between an update and its trips
ends when the trip is committed, its answer lost, or the device has not noted it | sent again, same answer, no second event | trips/crashes.test.ts: property: a process that ends anywhere leaves the trips of one that never ended; crash/tripPoints.slow.test.ts: a server ends at each point between an update and its trips
ends when the externalId is reserved, the trip not committed | the next POST or tripOptions goes on with that _id | trips/crashes.test.ts: property: a process that ends anywhere leaves the trips of one that never ended; trips/delivery.test.ts: a row whose own process has reserved the name makes the trip, once; crash/tripPoints.slow.test.ts: a server ends at each point between an update and its trips
ends when PATCH is committed, its answer lost | the client's repeat is "-" | trips/crashes.test.ts: property: a process that ends anywhere leaves the trips of one that never ended; crash/tripPoints.slow.test.ts: the answer to PATCH is lost: the client repeats it, and nothing more happens
owner down at the deadline | expired once, at the next owner's start; endedAt is the deadline | trips/crashes.test.ts: property: a process that ends anywhere leaves the trips of one that never ended; crash/tripPoints.slow.test.ts: nobody is there when the time of a trip is up: it expires once, as of then; cluster/trips.slow.test.ts: trips expire once, at their deadline, whoever owns their partitions by then

# Trips: what clients do (trips)
web SDK | startTrip, updateTrip, completeTrip, cancelTrip, trackOnce with tripOptions | clients/webSdks.slow.test.ts: in Node; clients/webSdks.slow.test.ts: in Chromium; e2e/sdk.test.ts: a user logs in, with metadata and a trip
native | 200 or 404 end the trip on the phone | e2e/native.test.ts: a trip from its start to its end, which is repeated, and after it is gone
server first | the backend creates the trip, the app then POSTs the same externalId: one trip | cluster/trips.slow.test.ts: the whole life of trips is the same in both engines
`)
