/** The pictures of the guides are those that the engine's geometry and rules draw today, and each one is used. */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { pictures } from '../../docs/guides/draw.ts'

const GUIDES = new URL('../../docs/guides/', import.meta.url)

t.test('the committed pictures are drawn by today’s engine', async (t) => {
  const drawn = pictures()
  const files = readdirSync(GUIDES).filter((name) => name.endsWith('.svg'))
  t.strictSame(files.sort(), Object.keys(drawn).sort(), '`npm run pictures` draws them anew')
  for (const [name, svg] of Object.entries(drawn))
    t.equal(readFileSync(new URL(name, GUIDES), 'utf8'), svg, `${name}: \`npm run pictures\` draws it anew`)
})

t.test('every picture is in a guide, has an alternative text, and loads nothing', async (t) => {
  const guides = readdirSync(GUIDES)
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(new URL(name, GUIDES), 'utf8'))
    .join('\n')
  for (const [name, svg] of Object.entries(pictures())) {
    t.match(guides, new RegExp(`!\\[[^\\]]{10,}\\]\\(${name}\\)`), `${name} is shown`)
    t.match(svg, /<title>[^<]{10,}<\/title>/)
    t.notMatch(svg, /<script|href=|url\(|@import/)
  }
})
