import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Loading } from './parts.tsx'

/** A component whose files are loaded when it is shown: of pages with a map beside pages without one. */
export function Later<P extends object>(props: {
  readonly load: () => Promise<ComponentType<P>>
  readonly props: P
}) {
  const [loaded, setLoaded] = useState<{ readonly Part: ComponentType<P> } | undefined>()
  useEffect(() => void props.load().then((Part) => setLoaded({ Part })), [])
  return loaded === undefined ? <Loading /> : <loaded.Part {...props.props} />
}
