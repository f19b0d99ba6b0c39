import { useState } from 'preact/hooks'
import type { User } from '../../../../sdk/src/types.ts'
import { call } from '../../api/call.ts'
import { environment } from '../../api/environment.ts'
import { useQuery } from '../../api/useQuery.ts'
import { serverNow } from '../../clock.ts'
import type { LngLat } from '../../map/geometry.ts'
import { place, setQuery } from '../../router.ts'
import { may } from '../../session/session.ts'
import { Code } from '../../ui/code.tsx'
import { Button, Dialog, Segments } from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import { countText } from '../../ui/words.ts'
import type { LiveMap } from './liveMap.ts'

const EVERY_MS = 2000
const SIMULATION_EVERY_MS = 10_000
/** Montevideo, where the simulated city is. */
const CITY = { center: [-56.175, -34.899] as const, zoom: 13.2 }

export type SimulationQuery = ReturnType<typeof useSimulation>

/** The simulated city of this environment; null: there is none. */
export function useSimulation() {
  return useQuery(
    'simulation',
    async (signal) => {
      if (environment.value === 'live') return null
      return (await call('get', '/v1/simulations', { signal })).simulation ?? null
    },
    { everyMs: SIMULATION_EVERY_MS },
  )
}

/** What a new user sees: a city to look at, and how one's own first location comes. */
export function Welcome({
  live,
  simulation,
}: {
  readonly live: LiveMap
  readonly simulation: SimulationQuery
}) {
  const isAsked = place.value.query.get('welcome') === '1'
  const { data: newest } = useQuery(
    'the newest user',
    async (signal) => (await call('get', '/v1/users', { query: { limit: 1 }, signal })).users[0] ?? null,
    isAsked ? { everyMs: EVERY_MS } : {},
  )
  const simulate = async () => {
    const map = live.opened?.map
    const before = map && { center: map.getCenter(), zoom: map.getZoom() }
    try {
      const begun = call('post', '/v1/simulations', { body: {} })
      // The map of the city is loaded, and devices in it are watched, while the server makes it.
      map?.jumpTo({ center: [...CITY.center], zoom: CITY.zoom })
      await begun
      setQuery({ welcome: undefined })
      void live.fences?.look()
      say('A city of 200 devices drives for half an hour, in the test environment.')
    } catch (error) {
      if (before) map?.jumpTo(before)
      say((error as Error).message, 'bad')
    }
    simulation.reload()
  }
  const show = ({ deviceId, location: { coordinates } }: User) => {
    setQuery({ welcome: undefined })
    live.choose(deviceId)
    live.fly(coordinates as unknown as LngLat)
  }
  const canSimulate = environment.value === 'test' && may('POST /v1/simulations')
  if (isAsked)
    return (
      <FirstLocation
        onShow={newest ? () => show(newest) : undefined}
        onSimulate={canSimulate ? () => void simulate() : undefined}
      />
    )
  if (simulation.data || newest !== null || live.news.value.count > 0) return null
  return (
    <div class="first">
      <p>
        <strong>Nobody is on the map yet.</strong> {canSimulate && 'Look at a city full of devices, or send'}
        {!canSimulate && 'Send'} a first location of your own.
      </p>
      {canSimulate && (
        <Button kind="primary" icon="sparkle" onClick={() => void simulate()}>
          Simulate a city
        </Button>
      )}
      <Button onClick={() => setQuery({ welcome: '1' })}>Show me how</Button>
    </div>
  )
}

/** Says that what is seen is not real, and ends it. */
export function SimulatedCity({ simulation: { data, reload } }: { readonly simulation: SimulationQuery }) {
  const [isBusy, setBusy] = useState(false)
  if (!data) return null
  const minutes = Math.max(1, Math.round((Date.parse(data.endsAt) - serverNow()) / 60_000))
  const end = async () => {
    setBusy(true)
    try {
      await call('delete', '/v1/simulations')
      say('The simulated city is gone, with its geofences and users.')
    } catch (error) {
      say((error as Error).message, 'bad')
    }
    setBusy(false)
    reload()
  }
  return (
    <div class="panel simulated">
      <p>
        <strong>A simulated city:</strong> {countText(data.devices)} devices drive for {minutes} more min.
      </p>
      {may('DELETE /v1/simulations') && (
        <Button size="small" disabled={isBusy} onClick={() => void end()}>
          {isBusy ? 'Removing …' : 'End and remove it'}
        </Button>
      )}
    </div>
  )
}

function FirstLocation(props: {
  /** Shows the device on the map, once its location has come. */
  readonly onShow: (() => void) | undefined
  readonly onSimulate: (() => void) | undefined
}) {
  const { onShow, onSimulate } = props
  const [form, setForm] = useState<'curl' | 'client' | 'socket'>('curl')
  // A publishable key is not a secret, so the server shows it whole; to people who may see keys.
  const { data: key } = useQuery('publishable key', async (signal) => {
    if (!may('GET /v1/keys')) return null
    const { keys } = await call('get', '/v1/keys', { signal })
    return (
      keys.find(({ kind, validUntil }) => kind === 'publishable' && validUntil === undefined)?.key ?? null
    )
  })
  return (
    <Dialog title="Your first location" onClose={() => setQuery({ welcome: undefined })}>
      <Segments
        label="Language"
        value={form}
        options={[
          ['curl', 'curl'],
          ['client', 'TypeScript'],
          ['socket', 'WebSocket'],
        ]}
        onChange={setForm}
      />
      <Code text={SNIPPETS[form](key ?? `prj_${environment.value}_pk_…`)} />
      {key === null && (
        <p class="quiet">
          Put your {environment.value} publishable key in: the first start of the server printed it.
        </p>
      )}
      <p role="status">{onShow ? 'It has come.' : 'Waiting for the first location …'}</p>
      <div class="actions">
        {onSimulate && (
          <Button icon="sparkle" onClick={onSimulate}>
            Simulate a city instead
          </Button>
        )}
        {onShow && (
          <Button kind="primary" onClick={onShow}>
            Show it on the map
          </Button>
        )}
      </div>
    </Dialog>
  )
}

const SNIPPETS: Readonly<Record<'curl' | 'client' | 'socket', (key: string) => string>> = {
  curl: (key) => `curl ${location.origin}/v1/track -H "Authorization: ${key}" \\
  -d deviceId=my-phone -d latitude=40.6892 -d longitude=-74.0445 -d accuracy=20`,
  client: (key) => `import { Ringfence } from '@ringfence/client'

const ringfence = new Ringfence({ url: '${location.origin}', key: '${key}' })
const { events } = await ringfence.post('/v1/track', {
  body: { deviceId: 'my-phone', latitude: 40.6892, longitude: -74.0445, accuracy: 20 },
})`,
  socket: (key) => `import { Ringfence } from '@ringfence/client'

const ringfence = new Ringfence({ url: '${location.origin}', key: '${key}' })
const stream = ringfence.stream()
await stream.track({ deviceId: 'my-phone', latitude: 40.6892, longitude: -74.0445, accuracy: 20 })
await stream.close()`,
}
