import { readItems } from './item.ts'

/**
 * What the geo services do where the interface leaves it open: geocoding, search, validation, places, regions, fraud.
 * A line without a test is not built yet, or not completely.
 */
export const GEO_ITEMS = readItems(`
# Geo parameters (geocoding)
lists | separated by commas, trimmed, in any case | geocoding/reverse.test.ts: every layer, in the order of preference, whatever the order of the words
query | missing, blank or above 1,000 characters is a 400 that names it | geocoding/forward.test.ts: what cannot be found is an empty list; e2e/requiredFields.test.ts: each wrong value of each parameter of a query or path is refused by name
layers | unknown words are a 400; a result's layer is one that was asked for | e2e/requiredFields.test.ts: each wrong value of each parameter of a query or path is refused by name; geocoding/reverse.test.ts: every layer, in the order of preference, whatever the order of the words
country, countryCode | anything but alpha-2 codes is a 400 | e2e/requiredFields.test.ts: each wrong value of each parameter of a query or path is refused by name
lang | one of ten languages; the region of a language tag is ignored; anything else is a 400 | e2e/requiredFields.test.ts: each wrong value of each parameter of a query or path is refused by name; geocoding/reverse.test.ts: places: inside, nearest, in the language of the answer; labels without syntax
coordinates | two numbers in range, otherwise a 400 | e2e/requiredFields.test.ts: each wrong value of each parameter of a query or path is refused by name
limit, radius | a number out of range is a 400 | e2e/requiredFields.test.ts: each wrong value of each parameter of a query or path is refused by name
nothing found | 200 with an empty list; punctuation in a query is text | geocoding/forward.test.ts: what cannot be found is an empty list
layers without words | address and the coarse layers; forward and autocomplete also street, intersection and neighborhood | geocoding/forward.test.ts: layers, countries and languages
any value | in any parameter: 200, or a 400 that names it | geocoding/badInput.test.ts: any value in any parameter; e2e/requiredFields.test.ts: each wrong value of each parameter of a query or path is refused by name
queries | of 0, 1, 1,000, 1,001 and 10,000 characters; syntax of the index, emoji, right-to-left text | geocoding/badInput.test.ts: what is wrong is refused, and named; any text is a query; geocoding/badInput.test.ts: any value in any parameter
near, limit | outside of the world; 0, 101, 1.5, abc | geocoding/badInput.test.ts: what is wrong is refused, and named; any text is a query
IP addresses | IPv6, private, malformed | ip/geocodeIp.test.ts: malformed addresses are named; others have their usual text; ip/geocodeIp.test.ts: private, reserved and unknown addresses have no place, and are no proxies
a US address | without addresses loaded: unverified | geocoding/badInput.test.ts: an address of the United States, where no addresses are loaded, is unverified
real extracts | are imported, with routes | geodata/realExtracts.test.ts: Liechtenstein is imported, and a route leads from Vaduz to Schaan; geodata/realExtracts.test.ts: a part of Queens is imported, and a route leads through it; geodata/timeZones.test.ts: tiles are built without a zone that the builder refuses, and this is reported
extracts | without any address; a million houses of one street; hostile names | geodata/hostileExtracts.slow.test.ts: an extract without any address or name; geodata/hostileExtracts.slow.test.ts: a million houses of one street cost little more than those of many; geodata/hostileExtracts.slow.test.ts: hostile names: imported, found, and shown without syntax
address files | wrong columns, half-written, Latin-1, hostile names | geodata/addAddresses.test.ts: files that are refused: with a sentence, and nothing is left behind; geodata/addAddresses.test.ts: a refused file leaves the region as it was; geodata/hostileExtracts.slow.test.ts: hostile names in a file of addresses
credit | in meta.attribution of each answer: of the regions, OpenStreetMap (borders, time zones), GeoNames; of the context, with regions or a place | geocoding/reverse.test.ts: beyond a kilometre nothing is found; without a region, the data of the world answer; geocoding/world.test.ts: without any map region: city, county, state and country; e2e/calls.test.ts: context: the country; in the United States also state, DMA and postal code
versions | what does not depend on the time has an ETag | geocoding/badInput.test.ts: versions: what does not depend on the time is asked for again for nothing
imports | in /readyz; a difference between processes is a warning | cluster/comparedImports.test.ts: the same in all, a difference, and the same again
missing package | 503 that names it | install/slim.slow.test.ts: npm install restores; only for tracking: below 180 MB, and a track
no map region | the data of the world answer | geocoding/world.test.ts: without any map region: city, county, state and country

# Geo records (geocoding)
addr:housenumber | a number on a street or in a place, at the object's point; lists are several; a hyphen is part of the number in US and CA, elsewhere a range | geocoding/records.test.ts: house numbers: lists, ranges, and numbers with a hyphen; geocoding/records.test.ts: an address needs a number and a street or place
same address | same number, street and city within 200 m are one; an object that is nothing else wins, then the lowest id | geocoding/reverse.test.ts: every layer, in the order of preference, whatever the order of the words
highway with name | ways of one name and city within 300 m are one street | geocoding/forward.test.ts: streets of one name: joined where they are near, told apart by their city
intersection | two streets that share a node; nodes within 150 m are one | geocoding/reverse.test.ts: every layer, in the order of preference, whatever the order of the words
number ranges | addr:interpolation and TIGER edges | geocoding/ranges.test.ts: a number in a range lies along the line, not straight between its ends; geodata/addAddresses.test.ts: streets of TIGER meet where edges end; geodata/addAddresses.test.ts: pieces of a line, which overlap and go in any direction, are the line again
areas | place, administrative boundaries and postal codes | geocoding/records.test.ts: what an object is: street, area, place, with ids that stay
places | a name or brand, and a tag with a category; at a point inside; pieces of an object are one | geocoding/records.test.ts: what an object is: street, area, place, with ids that stay; geocoding/records.test.ts: the point of an area is inside of it; geocoding/records.test.ts: categories: the slug and its ancestors, of every tag
names | no control characters, no angle brackets; labels also without other syntax | geocoding/records.test.ts: names: no control characters, no tags, at most 255 characters; geocoding/reverse.test.ts: places: inside, nearest, in the language of the answer; labels without syntax

# Geo fields (geocoding)
country | by borders, territories are themselves; named in the language of the answer | geocoding/records.test.ts: countries: territories with codes of their own, both banks of a border river, names in ten languages
city | own tag, postal city in US and CA, nearest address with one, containing area, city of the world | geocoding/world.test.ts: the city of a point is that of a look at all cities; geocoding/world.test.ts: without any map region: city, county, state and country; geocoding/reverse.test.ts: an address with everything that is known about it
state, stateCode | polygon in the US, first letter of the postal code in CA, own tag, areas, the city's region | geocoding/world.test.ts: states and counties are those that contain the point; geocoding/world.test.ts: postal codes
county | of the ZIP or by polygon in the US, with its suffix; areas elsewhere | geocoding/world.test.ts: Queens: borough, county by ZIP, state and its code; geocoding/world.test.ts: names of counties, boroughs and provinces
borough | of New York City by county; otherwise areas | geocoding/world.test.ts: Queens: borough, county by ZIP, state and its code
neighborhood | the containing area or the nearest centre within 1,500 m | geocoding/reverse.test.ts: an address with everything that is known about it
postalCode | own; in the US also of neighbours and of the nearest ZIP; a containing area | geocoding/world.test.ts: postal codes; geocoding/reverse.test.ts: an address with everything that is known about it
presence | always position, layer, formattedAddress, country and time zone; unknown fields are absent | geocoding/reverse.test.ts: an address with everything that is known about it
placeLabel, categories | on places only, which have no addressLabel | geocoding/reverse.test.ts: places: inside, nearest, in the language of the answer; labels without syntax
distance | whole metres | geocoding/reverse.test.ts: every layer, in the order of preference, whatever the order of the words
formattedAddress | one line in US and CA with code of the state; elsewhere the lines of the country; a place without its name | geocoding/records.test.ts: the line of an address; geocoding/reverse.test.ts: places: inside, nearest, in the language of the answer; labels without syntax
addressLabel | number and street in the order of the country | geocoding/records.test.ts: number and street in the order of the country
lang | changes country, state, city, neighborhood and place, never streets | geocoding/reverse.test.ts: places: inside, nearest, in the language of the answer; labels without syntax
timeZone | id, name, code, currentTime, utcOffset, dstOffset | geocoding/records.test.ts: clocks: summer and winter, abbreviations, half hours

# Forward (geocoding)
normalise | case, marks, apostrophes and abbreviations do not matter | geocoding/forward.test.ts: case, marks, abbreviations and the order of the words do not matter
readings | every reading of the words as number, unit, street and context; the best one wins | geocoding/forward.test.ts: case, marks, abbreviations and the order of the words do not matter
units and PO boxes | recognised by their words; of a PO box only the context counts | geocoding/forward.test.ts: units, and numbers with a suffix; geocoding/forward.test.ts: between known numbers of its side, otherwise the street, otherwise the city
intersections | two streets joined by a word of several languages | geocoding/forward.test.ts: crossings
score | text, importance and nearness | geocoding/forward.test.ts: one wrong letter is forgiven where nothing fits as it is; geocoding/forwardRules.test.ts: large roads come before small ones of the same name; geocoding/forward.test.ts: completions nearby come first, and countries are a filter
text | by letters, light words count less; equal, prefix, one edit | geocoding/forward.test.ts: one wrong letter is forgiven where nothing fits as it is
importance | by layer, population, class of road | geocoding/forwardRules.test.ts: large cities come before small ones of the same name, and before their state; geocoding/forwardRules.test.ts: large roads come before small ones of the same name
dropped | weak matches; another country or state than the query names; too far from the named city or postal code | geocoding/forwardRules.test.ts: an address is left out where the query names another city, state, country or postal code
confidence exact | the number on the street; or three quarters of the words and every digit | geocoding/forward.test.ts: an address with everything that is known about it
confidence interpolated | between known numbers, or in a range | geocoding/ranges.test.ts: a number in a range lies along the line, not straight between its ends; geocoding/forward.test.ts: between known numbers of its side, otherwise the street, otherwise the city; geocoding/forward.test.ts: units, and numbers with a suffix
confidence fallback | the smallest known container | geocoding/forward.test.ts: between known numbers of its side, otherwise the street, otherwise the city
results | exact ones near the best, otherwise interpolated ones, otherwise one fallback; at most 10, in a fixed order; duplicates once | geocoding/forwardRules.test.ts: at most ten results, in a fixed order, and each house once

# Reverse (geocoding)
results | one per layer that was asked for, in the order of preference | geocoding/reverse.test.ts: every layer, in the order of preference, whatever the order of the words
address | the nearest within 1,000 m, equal ones by the lowest number; beyond 200 m a range | geocoding/ranges.test.ts: reverse: the nearest number of a range, where no known one is within 200 m; geocoding/reverse.test.ts: every layer, in the order of preference, whatever the order of the words
place, street, intersection | the smallest that contains the point, otherwise the nearest within 1,000 m | geocoding/placeDatabase.test.ts: nearest and containing records are those of a look at all records; geocoding/reverse.test.ts: places: inside, nearest, in the language of the answer; labels without syntax
coarse, neighborhood | what the point lies in; outside the US the postal code of a neighbour within 1,000 m | geocoding/reverse.test.ts: every layer, in the order of preference, whatever the order of the words; geocoding/world.test.ts: without any map region: city, county, state and country
nothing there | an empty list | geocoding/reverse.test.ts: beyond a kilometre nothing is found; without a region, the data of the world answer

# Autocomplete (geocoding)
prefix | the last word is one unless a space or comma follows; numbers too | geocoding/forward.test.ts: completions: the last word is a prefix unless a space or comma follows; geocoding/forward.test.ts: completions of house numbers
layers | addresses in place of streets with layers=address, or once a number is typed | geocoding/forward.test.ts: completions of house numbers
near | the parameter, otherwise the requester's place by IP, otherwise none | geocoding/forward.test.ts: completions nearby come first, and countries are a filter; geocoding/forward.test.ts: without near, the place of the IP address counts, if it is known
filters | countryCode, postalCode, mailable; units are expanded | geocoding/forward.test.ts: completions nearby come first, and countries are a filter; geocoding/forward.test.ts: completions of house numbers

# Geocoding of IP addresses (geocoding)
requester | the peer, or behind trusted proxies the last untrusted hop; secret keys may send ip | ip/geocodeIp.test.ts: the requester is the last hop that is not trusted; ip/geocodeIp.test.ts: only a secret key may ask for another address; ip/geocodeIp.test.ts: malformed addresses are named; others have their usual text
place | city, state, country and coordinates; the smallest layer that is known | ip/geocodeIp.test.ts: an address with everything that is known about it; ip/geocodeIp.test.ts: states have a code in the United States and Canada only; parts of cities are cut; ip/geocodeIp.test.ts: GeoLite2: names in the language of the answer, postal code, layers; the limit of requests
private addresses | 200 without an address | ip/geocodeIp.test.ts: private, reserved and unknown addresses have no place, and are no proxies
proxy | lists of the operator, Tor, networks of hosts and VPNs, less the allow list | ip/geocodeIp.test.ts: proxies: lists of the operator and Tor, less the allowed ones; ip/geocodeIp.test.ts: proxies: networks of hosting companies and VPNs, less the allowed ones

# Search of places (geocoding)
iataCode | that airport alone; unknown: an empty list; not three letters: 400 | geocoding/searchPlaces.test.ts: airports: by code in any case, of the region, else of the world
near | required, with one of chains, categories, groups; kinds are all required, values are alternatives | geocoding/searchPlaces.test.ts: chains, categories, groups: each kind must fit, any value of it; others fit nothing; geocoding/searchPlaces.test.ts: without a point or a kind, what is missing is named; e2e/requiredFields.test.ts: each wrong value of each parameter of a query or path is refused by name; geocoding/searchPlaces.test.ts: the nearest first, then by _id, within the radius, up to the limit; geocoding/placeSearch.test.ts: places by chain, category and group: all within the distance, the nearest first
record | _id, name, categories, location, chain, address, group, operatingHours, metadata | geocoding/searchPlaces.test.ts: a place with everything that is known about it; geocoding/openingHours.test.ts: property: any weekly plan is read again, and a geofence takes it; geocoding/openingHours.test.ts: everything else is no weekly plan
_id | 24 hexadecimal digits, the same after each import | geocoding/searchPlaces.test.ts: airports: by code in any case, of the region, else of the world; geocoding/records.test.ts: what an object is: street, area, place, with ids that stay
categories | slugs from the root; a parent finds its children; groups of airports | geocoding/searchPlaces.test.ts: chains, categories, groups: each kind must fit, any value of it; others fit nothing; geocoding/searchPlaces.test.ts: airports: by code in any case, of the region, else of the world
chain | by Wikidata, otherwise by name, where the chain is present; slugs | geocoding/chains.test.ts: the id in Wikidata wins, then display name, name and brand, then other names; geocoding/chains.test.ts: a name counts where the chain is; a slug has one name; domains are those of the brand; geocoding/chains.test.ts: slugs: of the English name, in ASCII, otherwise of the id; geocoding/chains.test.ts: the package: countries by code, region, part, feature and point
settings | chainMappings, chainMetadata, placeFilters | registry/http.test.ts: settings of places: in settings and at the root, each replaced as a whole, every rule; geocoding/searchPlaces.test.ts: settings: own ids and data of chains; the filter by data compares texts

# Validation of addresses (addresses)
parameters | those of the interface; US and CA only; addressLabel wins | geocoding/validate.test.ts: another country is refused, and an address without number or street; e2e/requiredFields.test.ts: each wrong value of each parameter of a query or path is refused by name
output | capitals, as the postal services write; plus4 is returned as sent | geocoding/validate.test.ts: a verified address, as the postal service writes it; geocoding/validate.test.ts: boxes, routes, general delivery
postal code unknown | unverified | geocoding/validate.test.ts: unknown codes, wrong states, and places without addresses are unverified
PO box, route, general delivery | partially verified if code, city and state agree | geocoding/validate.test.ts: boxes, routes, general delivery
nothing loaded | unverified | geocoding/validate.test.ts: unknown codes, wrong states, and places without addresses are unverified
several streets match | ambiguous | geocoding/ranges.test.ts: validation: a number of a range is partially verified, of several streets ambiguous; geocoding/validate.test.ts: ambiguous without the direction or the suffix
number and street once | verified | geocoding/validate.test.ts: a verified address, as the postal service writes it
something corrected | partially verified | geocoding/validate.test.ts: corrected: spelling, city, code; numbers between known ones; streets alone
only a range, or no number | partially verified | geocoding/ranges.test.ts: validation: a number of a range is partially verified, of several streets ambiguous; geocoding/validate.test.ts: corrected: spelling, city, code; numbers between known ones; streets alone
otherwise | unverified | geocoding/validate.test.ts: corrected: spelling, city, code; numbers between known ones; streets alone
recordType, propertyType | by pattern, unit, building, shop and office | geocoding/ranges.test.ts: validation: what the building is used for; geocoding/validate.test.ts: a verified address, as the postal service writes it; geocoding/validate.test.ts: boxes, routes, general delivery; geocoding/validate.test.ts: units
analysis | unit:missing and unit:invalid where units are loaded | geocoding/validate.test.ts: units

# Regions, places and segments of a user (places and regions)
settings | regions, places, chains nearby, segments, countries; off costs nothing | e2e/regions.test.ts: off: nothing of it on the user, and no events; e2e/places.test.ts: off: nothing of places is in users and events, and the context has them; e2e/segments.test.ts: segments that are replaced, removed and hidden
regions | entered and exited for each kind, with a confidence by four points around | rules/regions.test.ts: state, DMA, postal code, country; exits before entries in each kind; rules/regions.test.ts: confidence: the points in four directions, as far away as the accuracy; e2e/regions.test.ts: across a border: the user, the events and their order; e2e/regions.test.ts: the \`_id\` of a region is made of its type and code; only countries have a flag
places | candidates, order, confidence and the stop rule | rules/placeStep.test.ts: candidates: within 75 m, of the filters, with an accuracy up to 200 m; rules/placeStep.test.ts: order: distance outside, smaller area, chain, distance to the point, _id; rules/placeStep.test.ts: confidence: by the accuracy and how much farther the second is; rules/placeStep.test.ts: the stop rule: first at every update for placeMinimumStaySeconds; e2e/places.test.ts: minimumConfidence, accuracy
state of a place | none to inside | rules/placeStep.test.ts: none, p by the stop rule with confidence ≥ minimum: in p, with the next candidates; e2e/places.test.ts: a walk into a café: passing by, stopping, staying, leaving
state of a place | stays within 75 m | rules/placeStep.test.ts: in p, the first of the others is remembered, but p is not; e2e/places.test.ts: a walk into a café: passing by, stopping, staying, leaving
state of a place | another place within 125 m | rules/placeStep.test.ts: another place is entered while the one before is within 125 m, with confidence 2
state of a place | left beyond 125 m | e2e/places.test.ts: a walk into a café: passing by, stopping, staying, leaving; e2e/places.test.ts: by stream and replay, and to server-sent events
state of a place | gone with the data or the filters | rules/placeStep.test.ts: what no longer passes the filters is gone silently; e2e/places.test.ts: filters: only the listed chains and categories; what no longer passes is gone silently
nearby chains | an event when a watched chain comes near, again after 1.5 times the distance | rules/placeStep.test.ts: chains nearby: near within the radius, left beyond 1.5 times; e2e/places.test.ts: chains: top chains, chains nearby, your own ids
topChains | the five that were visited most among the last 20 | rules/placeStep.test.ts: topChains: at most five of the last twenty, by visits, then the latest; e2e/places.test.ts: chains: top chains, chains nearby, your own ids
segments | rules of metadata, regions, geofences, chains, categories and counted events | e2e/segments.test.ts: every kind of rule; e2e/segments.test.ts: bad rules are refused with their place, and nothing changes; actor/segments.test.ts: property: users are in the segments that a count of the whole log gives; e2e/segments.test.ts: events count since the rule was set; another rule does not begin it again
anonymous | the place and the regions that the client names are where it was | e2e/anonymousPlaces.test.ts: a walk has the events of a device, without durations; e2e/anonymousPlaces.test.ts: ids that name nothing drop out; too many are refused
ways out | subscriptions, server-sent events, webhooks, lists, counts and NATS, by place, chain, category, region and reason of fraud | e2e/placeFilters.test.ts: subscriptions, server-sent events, webhooks and lists; delivery/nats.slow.test.ts: places, regions and fraud: a consumer of one subject gets its events
exports | events as CSV and lines of JSON, with place, region and fraud | e2e/eventExport.test.ts: CSV: a row for each event, with its place, region, fraud, geofence and data; e2e/eventExport.test.ts: the filters of the list
users | by the place that they are in, and by their segments | e2e/usersByPlace.test.ts: users of a place, of a segment, and of both; e2e/usersByPlace.test.ts: what a user does not show does not count
sync/region | has the places around, and its radius shrinks for them | e2e/placeFilters.test.ts: the region of an SDK has places, and ends before there may be others
without the data | in /readyz; users keep their places and enter none | e2e/placesLost.slow.test.ts: a place database that is missing, damaged or back again; e2e/placesLost.slow.test.ts: a place database that is damaged while the server runs; e2e/placesLost.slow.test.ts: a place database that is replaced while users are in the place; cluster/ownerWithoutPlaces.slow.test.ts: an owner without the map region of its users
bad input | filters, segments, clocks, borders, lists and accuracies | e2e/liveBadInput.slow.test.ts: 10,000 chains in a filter are refused everywhere, and the most that are taken work; e2e/liveBadInput.slow.test.ts: segments: depth 5 and 21 conditions are refused; depth 4, 20 conditions and unknown names are taken; e2e/liveBadInput.slow.test.ts: clocks that jump: no negative duration, no second entry, and dates of fraud that can be; e2e/liveBadInput.slow.test.ts: on a border, at a pole, in the sea, at the ends of the map; e2e/liveBadInput.slow.test.ts: with an accuracy of 50 km nobody enters a place or another region, and it is inaccurate; e2e/liveBadInput.slow.test.ts: blocked lists at their bound block their last entry, and over it are refused; e2e/liveBadInput.slow.test.ts: a proxy list that is no list: the server says which line, and does not start

# Geofences by address and placeId (places and regions)
address | resolved when written; 400 if not found, or far from the coordinates | geocoding/geofenceAreas.test.ts: an address alone: the first result, exact or between known numbers; geocoding/geofenceAreas.test.ts: coordinates win over an address, which must be near them if it is found
placeId | the area of the place, or its point with a radius; 400 if unknown | geocoding/geofenceAreas.test.ts: a place by its _id

# Maps (maps)
tiles | vector tiles of the imported regions merged: roads by class, buildings, water, land use, places, house numbers | maps/tiles.test.ts: a city by zoom: roads by class, buildings, water, land use, places, house numbers
world | an outline of the world with borders, countries and cities, where no region is | maps/tiles.test.ts: the world: land, borders, names of countries in the languages of answers; maps/geometry.test.ts: land by coastlines: islands, bays, straits and cut off lines
keys | publishable, in the Authorization header or as publishableKey; with and without /v1 | maps/tiles.test.ts: who gets it: any key, in the header or in the URL; secret keys not in the URL
limits | 200 a second for each address; not counted in quotas | maps/tiles.test.ts: not counted in quotas; 200 a second for each address
bad input | a zoom, column or row outside of the world is a 400 that names it; unknown styles, fonts and ranges are a 404 | maps/tiles.test.ts: wrong addresses are named; maps/styles.test.ts: unknown styles, fonts, ranges and files are named
styles | absolute URLs and glyphs; with publishableKey in them if it came in the URL | maps/styles.test.ts: a style has absolute URLs, with the key if it came in the URL; maps/styles.test.ts: behind proxies: their host and protocol; nothing else becomes a part of URLs
language | names in one of ten languages | maps/styles.test.ts: names in the language of the question
clients | the map plugin of the web SDK, MapLibre 2.4 to 6 | maps/browser.test.ts: maps in a browser
attribution | in every style | maps/styles.test.ts: credits in every style, as HTML that cannot be changed by data
glyphs and icons | served here, of open fonts and icons | maps/styles.test.ts: letters: of each script of the font, at the right place in the line; maps/styles.test.ts: icons: a picture, and where each is in it
missing package | 503 that names it | maps/styles.test.ts: a package that is missing is named
replaced regions | tiles are those of the regions in service | maps/tiles.test.ts: a region that comes and goes while tiles are asked for

# Fraud flags (fraud)
settings | thresholds and lists, with limits | e2e/fraud.test.ts: settings: what is absent gets its default, and every rule; e2e/liveBadInput.slow.test.ts: blocked lists at their bound block their last entry, and over it are refused
mocked | from a mock provider, or an IP address in another country | rules/fraud.test.ts: what the app says: mocked, compromised, sharing, verified; rules/fraud.test.ts: proxy, and an address in another country; e2e/fraud.test.ts: an address in another country, more than 1,000 km away, only with ipCountry
jumped | farther and faster than the thresholds | rules/fraud.test.ts: jumped: farther and faster than the thresholds, less both accuracies
compromised | as reported | rules/fraud.test.ts: what the app says: mocked, compromised, sharing, verified
inaccurate | accuracy beyond the threshold | rules/fraud.test.ts: inaccurate: beyond the threshold, not at it, and not without an accuracy
proxy | as for IP addresses | e2e/fraud.test.ts: proxies, by the lists of the operator; e2e/liveBadInput.slow.test.ts: a proxy list that is no list: the server says which line, and does not start
sharing | as reported | rules/fraud.test.ts: what the app says: mocked, compromised, sharing, verified
verified | as reported | e2e/fraud.test.ts: verified tracks say at the root whether they passed
blocked | by id, IP address or range | rules/fraud.test.ts: lists: by userId, deviceId, _id, address and range
bypassed | by id | e2e/fraud.test.ts: blocked and bypassed, until they are taken from the list
passed, failed_fraud | an event when it becomes false; dates of the last flags | e2e/fraud.test.ts: every field of the fraud of a user; failing is an event, passing again is none; e2e/eventOrder.test.ts: a track: regions, geofences, places, chains, beacons, fraud, trips
countries | blocked and allowed: 451, nothing is stored | e2e/fraud.test.ts: countries: 451 for tracks and contexts, and nothing is stored
`)
