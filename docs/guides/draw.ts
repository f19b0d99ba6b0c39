/** `npm run pictures`: draws the pictures of the guides anew, from the engine's own geometry and rules. */
import { writeFileSync } from 'node:fs'
import * as places from './pictures/places.ts'
import * as routes from './pictures/routes.ts'
import * as times from './pictures/times.ts'
import * as visits from './pictures/visits.ts'

/** By file name: every picture of the guides. */
export function pictures(): Readonly<Record<string, string>> {
  const drawn = [places, routes, times, visits].flatMap((module) => Object.entries(module))
  return Object.fromEntries(drawn.map(([name, draw]) => [`${name}.svg`, draw()]))
}

if (import.meta.main) {
  for (const [name, svg] of Object.entries(pictures())) {
    writeFileSync(new URL(name, import.meta.url), svg)
    console.log(name)
  }
}
