/** The style of {@link waitingPage}; its policy admits this one alone. */
export const WAITING_STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:light-dark(#f5f6f8,#101317);color:light-dark(#171b21,#e8ebf0)}
main{max-width:30rem;padding:2rem}h1{font-size:1.25rem;margin:0 0 .5rem}a{color:light-dark(#2450c8,#8fb0ff)}`

/**
 * The page that is shown while the dashboard is built. It reloads by itself, without a script.
 * @param failed whether the build has ended without a result
 */
export function waitingPage(failed: boolean): string {
  const refresh = failed ? '' : '<meta http-equiv="refresh" content="2">'
  const [title, text] = failed
    ? ['The dashboard could not be built', 'The log of the server says why. The next start tries again.']
    : [
        'The dashboard is being built',
        'This takes some seconds, once after an installation. The page appears by itself.',
      ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${refresh}
<title>${title} · Ringfence</title>
<style>${WAITING_STYLE}</style>
</head>
<body>
<main><h1>${title}</h1><p>${text} The API answers already: <a href="/docs">reference and guides</a>.</p></main>
</body>
</html>
`
}
