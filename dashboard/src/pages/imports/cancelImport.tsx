import { call } from '../../api/call.ts'
import { hasCall } from '../../api/document.ts'
import { Button } from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import type { ImportedKind } from './runImport.ts'

/** Ends an import; the rows before stay imported. */
export function CancelImport({ kind, id }: { readonly kind: ImportedKind; readonly id: string }) {
  const cancel = async () => {
    // In the types of a server that has it; older ones show no button.
    const path = `/v1/imports/${kind}/{id}/cancel` as '/v1/geofence-sync/runs/{id}/cancel'
    try {
      await call('post', path, { params: { id } })
      say('It ends after the rows that are under way. Those before stay.')
    } catch (error) {
      say((error as Error).message, 'bad')
    }
  }
  if (!hasCall(`POST /v1/imports/${kind}/{id}/cancel`)) return null
  return (
    <Button kind="danger" size="small" onClick={() => void cancel()}>
      Stop
    </Button>
  )
}
