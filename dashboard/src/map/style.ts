/** The style of maps, which is asked for while the library of maps is still being loaded. */
import type { StyleSpecification } from 'maplibre-gl'
import { environment } from '../api/environment.ts'
import { isDark } from '../theme/theme.ts'

/** The style that has come before the first map. */
let early: { readonly url: string; readonly style: StyleSpecification } | undefined
let isAsked = false

/** Where the style of the theme is. */
export function styleUrl(): string {
  return new URL(isDark.value ? '/maps/styles/dark' : '/maps/styles/radar-light-v1', location.href).href
}

/** Asks for the style of the first map, unless that has been done. */
export async function preloadStyle(): Promise<void> {
  if (isAsked) return
  isAsked = true
  const url = styleUrl()
  try {
    const answer = await fetch(url, { headers: { 'X-Ringfence-Environment': environment.peek() } })
    if (answer.ok) early = { url, style: (await answer.json()) as StyleSpecification }
  } catch {
    // The map asks by itself.
  }
  isAsked = early !== undefined
}

/** The style for a new map: the one that has come, or else where it is. */
export function firstStyle(): StyleSpecification | string {
  const url = styleUrl()
  const style = early?.url === url ? early.style : url
  // Later maps ask again, because there may be other regions by then.
  early = undefined
  return style
}
