import { signal } from '@preact/signals'

/** Test and live share no data. */
export type Environment = 'test' | 'live'

/** The environment of the page that is shown; every call is made in it. */
export const environment = signal<Environment>('test')
