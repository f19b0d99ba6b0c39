import { signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'ringfence.theme'
const dark = matchMedia('(prefers-color-scheme: dark)')

/** The theme that the person has chosen. */
export const theme = signal<Theme>(stored())
/** Whether the dark theme is shown. */
export const isDark = signal(false)

export function startTheme(): void {
  dark.addEventListener('change', show)
  show()
}

export function setTheme(next: Theme): void {
  theme.value = next
  try {
    localStorage.setItem(KEY, next)
  } catch {
    // Without storage, the choice holds until the page is closed.
  }
  show()
}

function show(): void {
  const { value } = theme
  isDark.value = value === 'system' ? dark.matches : value === 'dark'
  document.documentElement.style.colorScheme = value === 'system' ? 'light dark' : value
}

function stored(): Theme {
  try {
    const text = localStorage.getItem(KEY)
    return text === 'light' || text === 'dark' ? text : 'system'
  } catch {
    return 'system'
  }
}
