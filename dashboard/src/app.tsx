import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { loadDocument } from './api/document.ts'
import { environment } from './api/environment.ts'
import { go, place } from './router.ts'
import { PAGES, preloadPage, type PageProps } from './routes.ts'
import { session } from './session/session.ts'
import { Shell } from './shell/shell.tsx'
import { SignInPage } from './pages/sign-in/signInPage.tsx'
import { Empty, Failure, LinkButton, Loading } from './ui/parts.tsx'
import { Toasts } from './ui/toast.tsx'

const HOME = 'map'

/**
 * People who have not signed in see the sign-in page. Everybody else sees the page of the address, within the shell.
 */
export function App() {
  const { value } = session
  useEffect(() => {
    if (value) void loadDocument()
  }, [value])
  return (
    <>
      <Content />
      <Toasts />
    </>
  )
}

function Content() {
  const { value } = session
  const [name = ''] = place.value.parts
  const isInvitation = location.hash.startsWith('#invitation=')
  const isOutside = name === '' || name === 'sign-in' || (name === 'welcome' && !isInvitation)
  useEffect(() => {
    if (value === null && name !== 'sign-in' && !isInvitation) {
      // After signing in, the person gets to the page that was wanted.
      const wanted = name === '' ? '' : `?to=${encodeURIComponent(location.pathname + location.search)}`
      go(`/sign-in${wanted}`, { replace: true })
    }
    if (value && isOutside) {
      preloadPage(wantedPage())
      go(wantedPage(), { replace: true })
    }
  }, [value, name])
  if (value === undefined) return <Loading />
  if (value === null || isInvitation)
    return <SignInPage onSubmit={() => preloadPage(wantedPage(), { isSigningIn: true })} />
  if (isOutside) return <Loading />
  return (
    <Shell>
      <Page name={name} />
    </Shell>
  )
}

/** The page that follows after signing in: only a page of this server. */
function wantedPage(): string {
  const to = place.value.query.get('to') ?? ''
  return /^\/(?:test|live|keys|members|audit|system)\b/.test(to) ? to : `/${environment.value}/${HOME}`
}

function Page({ name }: { readonly name: string }) {
  const entry = PAGES[name]
  const [loaded, setLoaded] = useState<{ name: string; Page: ComponentType<PageProps> } | undefined>()
  const [failure, setFailure] = useState<string | undefined>()
  useEffect(() => {
    if (entry === undefined) return
    setFailure(undefined)
    document.title = `${entry.title} · Ringfence`
    entry.load().then(
      ({ default: Loaded }) => setLoaded({ name, Page: Loaded }),
      () => setFailure('This page could not be loaded.'),
    )
  }, [name])
  if (entry === undefined)
    return (
      <Empty title="There is no such page">
        <p>The address may be mistyped, or of another version.</p>
        <LinkButton href={`/${environment.value}/${HOME}`}>To the map</LinkButton>
      </Empty>
    )
  if (failure) return <Failure failure={{ message: failure }} retry={() => location.reload()} />
  if (loaded?.name !== name) return <Loading />
  // With this key, a change of the environment makes the page start anew, so that it shows nothing of the other one.
  return <loaded.Page key={environment.value} parts={place.value.parts.slice(1)} />
}
