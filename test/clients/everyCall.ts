/**
 * Every public call of the web SDKs, as a page makes it. The functions are also sent to a browser as their text, so they
 * use nothing from outside.
 */

// oxlint-disable-next-line typescript/no-explicit-any -- SDKs without types, and answers of every shape
type Json = any

/** What became of a call: what is to be compared, or the error. */
export type Outcome = Readonly<Record<string, Json>>

/** The three generations differ in their names, and the first takes callbacks. */
export interface SdkUnderTest {
  readonly generation: 3 | 4 | 5
  readonly key: string
  readonly host: string
}

/** Makes every call, one after the other. The server has the sample region and the geofence `shops/1`. */
export async function everyCall(
  Radar: Json,
  { generation, key, host }: SdkUnderTest,
): Promise<Record<string, Json>> {
  const isOld = generation === 3
  const call = (name: string, ...given: Json[]): Promise<Json> => {
    if (!isOld) return Promise.resolve(Radar[name](...given))
    return new Promise((resolve, reject) => {
      Radar[name](...given, (error: Json, result: Json, raw: Json) => {
        if (error) reject(Object.assign(new Error(error), { response: raw }))
        else resolve(result)
      })
    })
  }
  if (isOld) {
    Radar.initialize(key)
    Radar.setHost(host)
    Radar.setDeviceId(`device-${generation}`, `install-${generation}`)
    Radar.setDeviceType('Web')
    Radar.setRequestHeaders({ 'X-Radar-Anything': 'new' })
  } else {
    const getRequestHeaders = () => ({ 'X-Radar-Anything': 'new' })
    Radar.initialize(key, { host, debug: false, logLevel: 'none', getRequestHeaders })
    Radar.setProduct('shop')
  }
  const seen: Record<string, Json> = { version: Radar.VERSION }
  const city = { latitude: -34.9055, longitude: -56.1851 }
  const east = { latitude: -34.9055, longitude: -56.1751 }

  Radar.setUserId(`person-${generation}`)
  Radar.setDescription('A person')
  Radar.setMetadata({ plan: 'gold', age: 3 })
  const located = await call('getLocation')
  seen.getLocation = isOld ? located.location : located
  const tracked = await call('trackOnce', { ...city, accuracy: 5 })
  seen.trackOnce = {
    userId: tracked.user.userId,
    description: tracked.user.description,
    metadata: tracked.user.metadata,
    geofences: tracked.user.geofences.map(({ tag, externalId }: Json) => `${tag}/${externalId}`),
    events: tracked.events.map(({ type }: Json) => type),
  }
  const context = await call('getContext', city)
  // The first SDK unpacks `context`, the others read the root.
  const around = isOld ? context.context : context
  seen.getContext = { geofences: around.geofences.length, country: around.country?.code }

  const trip = {
    externalId: `trip-${generation}`,
    destinationGeofenceTag: 'shops',
    destinationGeofenceExternalId: '1',
    mode: 'car',
    metadata: { van: 7 },
    approachingThreshold: 2,
    scheduledArrivalAt: new Date(Date.now() + 3_600_000),
  }
  const started = await call('startTrip', trip)
  seen.startTrip = [started.trip.externalId, started.trip.metadata]
  const changed = isOld
    ? await call('updateTrip', { ...trip, metadata: { van: 8 } }, 'started')
    : await call('updateTrip', { ...trip, metadata: { van: 8 } }, 'started')
  seen.updateTrip = changed.trip.metadata
  Radar.setTripOptions(trip)
  seen.getTripOptions = Radar.getTripOptions().externalId
  seen.completeTrip = (await call('completeTrip')).trip.status
  await call('startTrip', { ...trip, externalId: `second-${generation}` })
  seen.cancelTrip = (await call('cancelTrip')).trip.status
  Radar.clearTripOptions()
  seen.clearTripOptions = Radar.getTripOptions() ?? null

  const bought = await call('logConversion', { name: 'bought', metadata: { sku: 'a' }, revenue: 12.5 })
  seen.logConversion = [bought.event.type, bought.event.metadata]

  seen.searchGeofences = (
    await call('searchGeofences', { near: city, radius: 1000, tags: ['shops'], limit: 5 })
  ).geofences.length
  const places = await call('searchPlaces', {
    near: city,
    radius: 2000,
    categories: ['food-beverage'],
    limit: 3,
  })
  seen.searchPlaces = places.places.length
  const found = await call('autocomplete', { query: 'Avenida', near: city, limit: 3 })
  seen.autocomplete = found.addresses.length > 0
  const forward = await call(isOld ? 'geocode' : 'forwardGeocode', {
    query: 'Plaza Independencia, Montevideo',
  })
  seen.forwardGeocode = forward.addresses.length > 0
  const reverse = await call('reverseGeocode', { ...city, layers: ['address', 'locality'] })
  seen.reverseGeocode = reverse.addresses.length > 0
  // This machine's address is nowhere.
  seen.ipGeocode = typeof (await call('ipGeocode')) === 'object'
  const validated = await call('validateAddress', {
    countryCode: 'US',
    stateCode: 'NY',
    city: 'New York',
    postalCode: '10003',
    number: '841',
    street: 'Broadway',
  })
  seen.validateAddress = typeof validated.result.verificationStatus
  const ways = { origin: city, destination: east, modes: ['foot', 'car'], units: 'metric' }
  const routes = (await call(isOld ? 'getDistance' : 'distance', ways)).routes
  seen.distance = [routes.foot.distance.value > 500, routes.car.duration.value > 0]
  const cells = { origins: [city], destinations: [east, city], mode: 'car', units: 'metric' }
  const { matrix } = await call(isOld ? 'getMatrix' : 'matrix', cells)
  seen.matrix = matrix.map((line: Json) => line.length)
  return seen
}

/** The name of the error of a call that must fail; of the first SDK its status. */
export async function failureOf(
  Radar: Json,
  sdk: SdkUnderTest,
  name: string,
  ...given: Json[]
): Promise<Outcome> {
  const { generation, key, host } = sdk
  if (generation === 3) {
    Radar.initialize(key)
    const [origin, version] = host.split(' ')
    Radar.setHost(origin, version ?? 'v1')
    return new Promise((resolve) => {
      Radar[name](...given, (error: Json, _result: Json, response: Json) =>
        resolve({ name: error, meta: response?.meta ?? null }),
      )
    })
  }
  const [origin, version] = host.split(' ')
  Radar.initialize(key, { host: origin, version: version ?? 'v1', debug: false, logLevel: 'none' })
  try {
    await Radar[name](...given)
    return { name: null }
  } catch (error) {
    const { name: of, status, response } = error as Json
    return { name: of, status, meta: response?.meta ?? null }
  }
}
