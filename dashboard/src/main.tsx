// This must be the first import, because the policy must be there before anything makes a script.
// oxlint-disable-next-line import/no-unassigned-import
import './trustedTypes.ts'
// oxlint-disable-next-line import/no-unassigned-import
import './theme/tokens.css'
// oxlint-disable-next-line import/no-unassigned-import
import './theme/base.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { startRouter } from './router.ts'
import { preloadPage } from './routes.ts'
import { loadSession } from './session/session.ts'
import { reloadOnce } from './reloading.ts'
import { startTheme } from './theme/theme.ts'

// The files of an older build may be gone once the server has a newer one.
addEventListener('vite:preloadError', reloadOnce)

startTheme()
startRouter()
preloadPage(location.pathname + location.search)
render(<App />, document.getElementById('app')!)
void loadSession()
