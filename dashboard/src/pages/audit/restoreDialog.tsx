import { useState } from 'preact/hooks'
import { CallFailure } from '../../api/call.ts'
import { environment } from '../../api/environment.ts'
import { Button, Dialog, Failure } from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import type { Entry } from './auditPage.tsx'
import { Changes } from './changes.tsx'
import { restore } from './restoring.ts'

/** Shows what a restoring changes, and does it. */
export function RestoreDialog(props: {
  readonly entry: Entry
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const { entry, onClose, onDone } = props
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const work = async () => {
    const shown = environment.value
    // The audit is of both environments; the record is of one.
    environment.value = entry.live ? 'live' : 'test'
    try {
      await restore(entry)
      say(`${entry.target} is as it was before.`)
      onDone()
    } catch (error) {
      setFailure(error as CallFailure)
    } finally {
      environment.value = shown
    }
  }
  return (
    <Dialog title={`Restore ${entry.target}?`} onClose={onClose}>
      <p>
        It becomes as it was before this entry, in {entry.live ? 'live' : 'test'}. What was changed later is
        replaced, too.
      </p>
      <Changes before={entry.after} after={entry.before} />
      {failure && <Failure failure={failure} />}
      <div class="actions">
        <Button onClick={onClose}>Leave it</Button>
        <Button kind="primary" onClick={() => void work()}>
          Restore
        </Button>
      </div>
    </Dialog>
  )
}
