const STORED = 'ringfence.reloaded'
/** A page that still cannot load its files is not loaded again for this time: that would have no end. */
const AGAIN_MS = 60_000

/**
 * Loads the page again, because files of its build are gone: the server may have a newer build. What is missing after that is
 * told in its place.
 */
export function reloadOnce(): void {
  try {
    const last = Number(sessionStorage.getItem(STORED))
    if (Math.abs(Date.now() - last) < AGAIN_MS) return
    sessionStorage.setItem(STORED, String(Date.now()))
  } catch {
    // Without storage, nobody would know that it was loaded again.
    return
  }
  location.reload()
}
