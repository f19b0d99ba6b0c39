/** `npm run examples`: writes docs/examples.json anew from a real server with an empty data folder. */
import { writeFileSync } from 'node:fs'
import { Server } from '../../test/kit/server.ts'
import { Recording } from './recording.ts'
import { STORY_SERVER, tellStory } from './story.ts'

const server = await Server.start(STORY_SERVER)
try {
  const recording = new Recording(server)
  await tellStory(recording)
  const examples = recording.examples()
  // A position on one line.
  const text = JSON.stringify(examples, undefined, 1).replaceAll(
    /\[\s+(-?[\d.]+),\s+(-?[\d.]+)\s+\]/g,
    '[$1, $2]',
  )
  writeFileSync(new URL('../examples.json', import.meta.url), `${text}\n`)
  console.log(`docs/examples.json: ${Object.keys(examples.operations).length} operations`)
} finally {
  await server.dispose()
}
