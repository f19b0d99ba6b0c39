import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Failure, Loading } from './parts.tsx'

/** A component whose files are loaded when it is shown: of pages with a map beside pages without one. */
export function Later<P extends object>(props: {
  readonly load: () => Promise<ComponentType<P>>
  readonly props: P
}) {
  const [loaded, setLoaded] = useState<{ readonly Part: ComponentType<P> } | undefined>()
  const [hasFailed, setFailed] = useState(false)
  useEffect(() => {
    props.load().then(
      (Part) => setLoaded({ Part }),
      () => setFailed(true),
    )
  }, [])
  // A browser does not load a script again that it could not load, unless the page is loaded again.
  if (hasFailed)
    return (
      <Failure
        failure={{ message: 'This part of the page could not be loaded.' }}
        retry={() => location.reload()}
      />
    )
  return loaded === undefined ? <Loading /> : <loaded.Part {...props.props} />
}
