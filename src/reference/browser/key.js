/* The key for a page's calls, in the field of its bar, where the page's own script reads it. */

const STORED_KEY = 'ringfence.key'
const KEY = /^prj_(test|live)_(pk|sk)_[0-9a-f]{40}$/

const field = document.getElementById('key')
const kind = document.getElementById('kind')

// It is stored for this tab only, because a key must not outlive the session, nor be read by another tab.
field.value = sessionStorage.getItem(STORED_KEY) ?? ''
field.addEventListener('input', () => {
  sessionStorage.setItem(STORED_KEY, field.value.trim())
  showKind()
})
showKind()

function showKind() {
  const text = field.value.trim()
  const match = KEY.exec(text)
  kind.dataset.environment = match === null ? 'none' : match[1]
  if (match !== null) kind.textContent = `${match[1]}, ${match[2] === 'sk' ? 'secret' : 'publishable'}`
  else kind.textContent = text === '' ? 'no key: calls will be refused' : 'this is not a key'
}
