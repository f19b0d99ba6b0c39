import type { ComponentChildren } from 'preact'
import type { Pages } from '../api/usePages.ts'
import { Button, Failure, Loading } from './parts.tsx'
import { Table, type Column } from './table.tsx'
import { countText } from './words.ts'

/** A list of records with all of its states: loading, failed, empty, and more to come. */
export function RecordList<T extends { readonly _id: string }>(props: {
  readonly caption: string
  readonly list: Pages<T>
  readonly columns: readonly Column<T>[]
  readonly empty: ComponentChildren
  readonly selected?: string | undefined
  readonly onPoint?: (row: T | undefined) => void
}) {
  const { caption, list, columns, empty, selected, onPoint } = props
  const { data, failure, hasMore, isLoadingMore } = list
  return (
    <section class="card" aria-label={caption}>
      {failure && (
        <div class="body">
          <Failure failure={failure} retry={() => list.reload()} />
        </div>
      )}
      {data === undefined && !failure && <Loading lines={8} />}
      {data?.length === 0 && !failure && empty}
      {data !== undefined && data.length > 0 && (
        <>
          <Table
            caption={caption}
            columns={columns}
            rows={data}
            keyOf={(row) => row._id}
            selected={selected}
            {...(onPoint && { onPoint })}
          />
          <footer class="list-end">
            <span class="quiet">
              {countText(data.length)} shown{hasMore ? '' : ', all of them'}
            </span>
            {hasMore && (
              <Button size="small" disabled={isLoadingMore} onClick={() => list.more()}>
                {isLoadingMore ? 'Loading …' : 'Show more'}
              </Button>
            )}
          </footer>
        </>
      )}
    </section>
  )
}
