/**
 * Reads answers as strictly as the strictest native SDK. Where one of them would reject an answer or a part of it,
 * this throws an error that says where. Written from the sources of the public iOS and Android SDKs.
 */
import type { Json } from './contract.ts'

const DATE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** A track or replay. It needs a user and a list of events; nearby geofences may be absent. */
export function readTrack(body: Json): void {
  readUser(body.user, 'user')
  each(body.events, 'events', readEvent)
  if ('nearbyGeofences' in body) each(body.nearbyGeofences, 'nearbyGeofences', readShapedGeofence)
  if ('nearbyBeacons' in body) each(body.nearbyBeacons, 'nearbyBeacons', readPlacedBeacon)
  readMeta(body)
}

/** For native SDKs the context is in `context`, for the web SDK at the root. */
export function readContext(body: Json): void {
  for (const [context, at] of [
    [body.context, 'context'],
    [body, 'root'],
  ] as const) {
    object(context, at)
    each(context.geofences, `${at}.geofences`, readGeofence)
    readRegions(context, at)
  }
}

export function readConversion(body: Json): void {
  readEvent(body.event, 'event')
  text(body.event.user._id, 'event.user._id')
}

/** The answer to a call of a trip: without the trip or the list of events, an SDK takes it for a failure. */
export function readTrip(body: Json): void {
  const { trip } = body
  object(trip, 'trip')
  for (const name of ['_id', 'externalId', 'mode', 'status']) text(trip[name], `trip.${name}`)
  if ('destinationLocation' in trip) object(trip.destinationLocation, 'trip.destinationLocation')
  if ('eta' in trip) for (const name of ['duration', 'distance']) number(trip.eta[name], `trip.eta.${name}`)
  each(body.events, 'events', readEvent)
}

export function readGeofences(body: Json): void {
  each(body.geofences, 'geofences', readShapedGeofence)
}

export function readBeacons(body: Json): void {
  each(body.beacons, 'beacons', readPlacedBeacon)
  readMeta(body)
}

export function readSyncRegion(body: Json): void {
  readGeofences(body)
  each(body.beacons, 'beacons', readPlacedBeacon)
  each(body.places, 'places', readPlace)
  object(body.region, 'region')
  for (const name of ['latitude', 'longitude', 'radius']) number(body.region[name], `region.${name}`)
}

/** The settings that an SDK adopts. If one has the wrong type, the SDK uses its own default instead. */
function readMeta({ meta }: Json): void {
  object(meta, 'meta')
  const { settings, sdkConfiguration, trackingOptions, featureSettings } = meta
  if (settings !== undefined) {
    for (const name of ['uuids', 'uids']) each(settings.beacons[name], `meta.settings.beacons.${name}`, text)
  }
  if (sdkConfiguration !== undefined) {
    for (const name of ['stopDetection', 'bufferGeofenceEntries', 'bufferGeofenceExits'])
      if (typeof sdkConfiguration[name] !== 'boolean') fail(`meta.sdkConfiguration.${name}`, 'no boolean')
    if (!Number.isInteger(sdkConfiguration.defaultGeofenceDwellThreshold))
      fail('meta.sdkConfiguration.defaultGeofenceDwellThreshold', 'no whole number')
    // With any other value, the Android SDK crashes.
    if (!['none', 'error', 'warning', 'info', 'debug'].includes(sdkConfiguration.logLevel))
      fail('meta.sdkConfiguration.logLevel', 'unknown')
  }
  if (featureSettings !== undefined) object(featureSettings, 'meta.featureSettings')
  // They would be stored and take precedence over the app's own.
  if (trackingOptions !== undefined || sdkConfiguration?.remoteTrackingOptions !== undefined)
    fail('meta.trackingOptions', 'there')
}

/** The configuration. If one of its two parts is missing, SDKs reset what the app was told before. */
export function readConfig(body: Json): void {
  readMeta(body)
  object(body.meta.sdkConfiguration, 'meta.sdkConfiguration')
  object(body.meta.featureSettings, 'meta.featureSettings')
}

function readUser(user: Json, at: string): void {
  object(user, at)
  text(user._id, `${at}._id`)
  readPoint(user.location, `${at}.location`)
  if ('locationAccuracy' in user) number(user.locationAccuracy, `${at}.locationAccuracy`)
  each(user.geofences, `${at}.geofences`, readGeofence)
  each(user.beacons, `${at}.beacons`, readBeacon)
  each(user.segments, `${at}.segments`, object)
  each(user.topChains, `${at}.topChains`, object)
  readRegions(user, at)
  if ('trip' in user) text(user.trip?.externalId, `${at}.trip.externalId`)
  if ('source' in user) text(user.source, `${at}.source`)
  for (const name of ['createdAt', 'updatedAt', 'actualUpdatedAt']) date(user[name], `${at}.${name}`)
}

function readEvent(event: Json, at: string): void {
  object(event, at)
  text(event._id, `${at}._id`)
  text(event.type, `${at}.type`)
  date(event.createdAt, `${at}.createdAt`)
  date(event.actualCreatedAt, `${at}.actualCreatedAt`)
  if (typeof event.live !== 'boolean') fail(`${at}.live`, 'no boolean')
  if ('geofence' in event) readGeofence(event.geofence, `${at}.geofence`)
  if ('beacon' in event) readBeacon(event.beacon, `${at}.beacon`)
  if ('place' in event) readPlace(event.place, `${at}.place`)
  if ('region' in event) readRegion(event.region, `${at}.region`)
  if ('location' in event) readPoint(event.location, `${at}.location`)
  if ('verification' in event && ![1, 0, -1].includes(event.verification))
    fail(`${at}.verification`, 'unknown')
  if (![1, 2, 3].includes(event.confidence)) fail(`${at}.confidence`, 'unknown')
  if ('duration' in event) number(event.duration, `${at}.duration`)
  if ('metadata' in event) object(event.metadata, `${at}.metadata`)
}

function readGeofence(geofence: Json, at: string): void {
  object(geofence, at)
  for (const name of ['_id', 'tag', 'externalId', 'description']) text(geofence[name], `${at}.${name}`)
  if ('metadata' in geofence) object(geofence.metadata, `${at}.metadata`)
  // iOS declares that a geofence always has a geometry.
  if (!['circle', 'polygon', 'isochrone'].includes(geofence.type)) fail(`${at}.type`, 'unknown')
  readPoint(geofence.geometryCenter, `${at}.geometryCenter`)
  number(geofence.geometryRadius, `${at}.geometryRadius`)
}

/** With the fields that are needed to watch it; for a polygon, its one ring. */
function readShapedGeofence(geofence: Json, at: string): void {
  readGeofence(geofence, at)
  const { type, coordinates } = geofence.geometry ?? {}
  if (type !== 'Polygon' || !Array.isArray(coordinates) || coordinates.length !== 1)
    fail(`${at}.geometry`, 'no polygon of one ring')
  if (coordinates[0].length < 4) fail(`${at}.geometry`, 'no ring')
  each(coordinates[0], `${at}.geometry`, readPosition)
}

function readBeacon(beacon: Json, at: string): void {
  object(beacon, at)
  text(beacon._id, `${at}._id`)
  text(beacon.description, `${at}.description`)
  const names = { ibeacon: ['uuid', 'major', 'minor'], eddystone: ['uid', 'instance'] }[beacon.type as string]
  if (names === undefined) fail(`${at}.type`, 'unknown')
  for (const name of names!) text(beacon[name], `${at}.${name}`)
  for (const name of ['tag', 'externalId']) if (name in beacon) text(beacon[name], `${at}.${name}`)
}

/** The list for an iOS SDK, which drops the whole list if one entry does not match its decoder. */
export function readIosBeacons(beacons: Json): void {
  each(beacons, 'beacons', (beacon, at) => {
    for (const name of ['uuid', 'major', 'minor']) text(beacon[name], `${at}.${name}`)
  })
}

/** With the fields that are needed to range it. */
function readPlacedBeacon(beacon: Json, at: string): void {
  readBeacon(beacon, at)
  readPoint(beacon.geometry, `${at}.geometry`)
}

function readRegions(owner: Json, at: string): void {
  for (const name of ['country', 'state', 'dma', 'postalCode'])
    if (owner[name] !== undefined && owner[name] !== null) readRegion(owner[name], `${at}.${name}`)
  if (owner.place !== undefined && owner.place !== null) readPlace(owner.place, `${at}.place`)
}

function readRegion(region: Json, at: string): void {
  object(region, at)
  for (const name of ['_id', 'name', 'code', 'type']) text(region[name], `${at}.${name}`)
}

function readPlace(place: Json, at: string): void {
  object(place, at)
  for (const name of ['_id', 'name']) text(place[name], `${at}.${name}`)
}

function readPoint(point: Json, at: string): void {
  object(point, at)
  if (point.type !== 'Point') fail(`${at}.type`, 'no Point')
  readPosition(point.coordinates, `${at}.coordinates`)
}

function readPosition(position: Json, at: string): void {
  if (!Array.isArray(position) || position.length !== 2) fail(at, 'no longitude and latitude')
  for (const degrees of position) number(degrees, at)
}

function each(list: Json, at: string, read: (item: Json, at: string) => void): void {
  if (!Array.isArray(list)) fail(at, 'no array')
  for (const [i, item] of list.entries()) read(item, `${at}[${i}]`)
}

function object(value: Json, at: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) fail(at, 'no object')
}

function text(value: Json, at: string): void {
  if (typeof value !== 'string' || value === '') fail(at, 'no text')
}

function number(value: Json, at: string): void {
  if (typeof value !== 'number') fail(at, 'no number')
}

function date(value: Json, at: string): void {
  if (typeof value !== 'string' || !DATE.test(value)) fail(at, 'no date with milliseconds in UTC')
}

function fail(at: string, what: string): never {
  throw new Error(`a native SDK gives up: ${at} is ${what}`)
}
