import { pagePath } from '../../router.ts'
import { Ago } from '../../ui/parts.tsx'
import { Table } from '../../ui/table.tsx'
import { countText, metersText, userName } from '../../ui/words.ts'
import type { LiveMap } from './liveMap.ts'

/** The maximum number of rows, because nobody reads more. */
const SHOWN = 200

/** The twin of the map for everybody: the devices in view as a table. */
export function DeviceTable({ live }: { readonly live: LiveMap }) {
  const { count } = live.news.value
  const rows = live.fleet.positions.slice(0, SHOWN)
  return (
    <div class="over device-table panel">
      <Table
        caption={`Devices in view: ${countText(count)}${count > SHOWN ? `, the first ${SHOWN}` : ''}`}
        rows={rows}
        keyOf={({ user }) => user.deviceId}
        columns={[
          {
            title: 'User',
            kind: 'cut',
            cell: ({ user }) => <a href={pagePath(`users/${user._id}`)}>{userName(user)}</a>,
          },
          {
            title: 'Location',
            cell: ({ location: { coordinates } }) => (
              <span class="mono">
                {coordinates[1].toFixed(5)}, {coordinates[0].toFixed(5)}
              </span>
            ),
          },
          {
            title: 'Accuracy',
            kind: 'number',
            cell: ({ locationAccuracy }) =>
              locationAccuracy === undefined ? '' : metersText(locationAccuracy),
          },
          { title: 'Updated', cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
        ]}
      />
    </div>
  )
}
