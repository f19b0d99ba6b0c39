import { useQuery } from '../../api/useQuery.ts'
import { call } from '../../api/call.ts'
import { environment } from '../../api/environment.ts'
import { place, setQuery } from '../../router.ts'
import { Code } from '../../ui/code.tsx'
import { Dialog } from '../../ui/parts.tsx'
import type { LiveMap } from './liveMap.ts'

const EVERY_MS = 2000

/** What a new user sees: how the first location comes, until it has come. */
export function Welcome({ live }: { readonly live: LiveMap }) {
  const isAsked = place.value.query.get('welcome') === '1'
  const { data } = useQuery(
    'is there a user',
    async (signal) => (await call('get', '/v1/users', { query: { limit: 1 }, signal })).users.length > 0,
    isAsked ? { everyMs: EVERY_MS } : {},
  )
  if (!isAsked) {
    if (data !== false || live.news.value.count > 0) return null
    return (
      <div class="first">
        <p>
          <strong>Nobody is on the map yet.</strong> Send a first location and watch it appear.
        </p>
        <button type="button" class="button primary" onClick={() => setQuery({ welcome: '1' })}>
          Show me how
        </button>
      </div>
    )
  }
  const key = `prj_${environment.value}_pk_…`
  return (
    <Dialog title="Your first location" onClose={() => setQuery({ welcome: undefined })}>
      <p>
        Put your {environment.value} publishable key into this call. The first start of the server printed it;{' '}
        <code>npm run keys -- list</code> shows its last characters.
      </p>
      <Code
        text={`curl ${location.origin}/v1/track -H "Authorization: ${key}" \\
  -d deviceId=my-phone -d latitude=40.6892 -d longitude=-74.0445 -d accuracy=20`}
      />
      <p role="status">
        {data ? 'It has come. Close this and look at the map.' : 'Waiting for the first location …'}
      </p>
    </Dialog>
  )
}
