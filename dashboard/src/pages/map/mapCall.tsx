import { place } from '../../router.ts'
import { TextsButton } from '../../ui/code.tsx'
import type { LiveMap } from './liveMap.ts'

/** `</>` of the map: the watch and the subscription behind what is seen, with the client and on the wire. */
export function MapCall({ live }: { readonly live: LiveMap }) {
  const { query } = place.value
  // Read, so that it follows the map.
  void live.news.value
  const { map } = live.opened ?? {}
  const bounds = map?.getBounds()
  const box =
    bounds === undefined
      ? [-180, -90, 180, 90]
      : [bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth()].map((degrees) =>
          Number(degrees.toFixed(5)),
        )
  const [user, tag, type] = ['user', 'tag', 'type'].map((name) => query.get(name) ?? '')
  const filter = { ...(user && { userIds: [user] }), ...(tag && { tags: [tag] }) }
  const area = { type: 'box', box }
  const events = type ? { types: [type] } : {}
  const hasFilter = Object.keys(filter).length > 0
  return (
    <TextsButton
      texts={[
        [
          'TypeScript',
          [
            "import { Ringfence } from '@ringfence/client'",
            '',
            `const ringfence = new Ringfence({ url: '${location.origin}', key: process.env.RINGFENCE_KEY })`,
            'const stream = ringfence.stream()',
            `const events = stream.events(${JSON.stringify(events)}, { batch: true })`,
            `const area = ${JSON.stringify(area)}`,
            `for await (const positions of stream.watchBatches(area${hasFilter ? `, { filter: ${JSON.stringify(filter)} }` : ''}))`,
            '  console.log(positions)',
          ].join('\n'),
        ],
        [
          'WebSocket',
          [
            `${location.origin.replace(/^http/, 'ws')}/v1/stream`,
            '',
            JSON.stringify({ type: 'subscribe', id: 'events', filter: events, batch: true }),
            JSON.stringify({ type: 'watch', id: 'map', area, batch: true, ...(hasFilter && { filter }) }),
          ].join('\n'),
        ],
      ]}
    />
  )
}
