/* The reference: Swagger UI for this server's own document, with calls that carry the key in the page's field. */

// Swagger UI has its own way to be dark.
const dark = matchMedia('(prefers-color-scheme: dark)')
dark.addEventListener('change', showDark)
showDark()

function showDark() {
  document.documentElement.classList.toggle('dark-mode', dark.matches)
}

/** Adds the key to requests to this server, except for the one for the document. */
function withKey(request) {
  const key = document.getElementById('key').value.trim()
  const isOurs = new URL(request.url, location.href).origin === location.origin
  if (key !== '' && isOurs && !request.loadSpec) request.headers.Authorization = key
  return request
}

/** Removes the dialogs for credentials, because the page has one field for the key already. */
function withoutDialogs() {
  const nothing = () => () => null
  return { wrapComponents: { authorizeBtn: nothing, authorizeOperationBtn: nothing } }
}

/** Removes the forms of streams, because a trial could not show a stream that has no end. */
function withoutTrialsOfStreams() {
  const allowTryItOutFor = (original, system) => (state, path, method) => {
    const responses = system.specSelectors.specJson().getIn(['paths', path, method, 'responses'])
    return !responses?.hasIn(['101']) && !responses?.hasIn(['200', 'content', 'text/event-stream'])
  }
  return { statePlugins: { spec: { wrapSelectors: { allowTryItOutFor } } } }
}

/** A link to an operation shows it below the bar. The browser does this, because it applies scroll-padding-top. */
function withScrollPadding() {
  const scrollToElement = () => (element) => element.scrollIntoView()
  return { statePlugins: { layout: { wrapActions: { scrollToElement } } } }
}

/**
 * Gives the device of the first examples a new name each time the page is opened, because a device that is inside a
 * geofence already does not enter it.
 */
function withNewDevice() {
  const name = `docs-visitor-${Math.random().toString(36).slice(2, 8)}`
  const updateSpec = (original) => (text) => original(text.replaceAll('docs-visitor', name))
  return { statePlugins: { spec: { wrapActions: { updateSpec } } } }
}

window.SwaggerUIBundle({
  url: '/v1/openapi.json',
  domNode: document.getElementById('reference'),
  presets: [window.SwaggerUIBundle.presets.apis],
  plugins: [withoutDialogs, withoutTrialsOfStreams, withScrollPadding, withNewDevice],
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  displayRequestDuration: true,
  docExpansion: 'list',
  filter: true,
  requestInterceptor: withKey,
  tryItOutEnabled: true,
  validatorUrl: null,
})
