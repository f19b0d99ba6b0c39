import { keyField, page, ROUTES_PATH } from './pages.ts'

/** Addresses of the sample map region to begin with, from OpenStreetMap. */
const PLACES: readonly (readonly [name: string, coordinates: string])[] = [
  ['Avenida 18 de Julio 1038', '-34.90622,-56.19400'],
  ['Bulevar España 2684', '-34.91362,-56.15544'],
  ['Avenida 18 de Julio 2205', '-34.89847,-56.16753'],
  ['Avenida 8 de Octubre 3943', '-34.87287,-56.13699'],
  ['Avenida Agraciada 2992', '-34.87587,-56.19864'],
  ['Avenida Italia 3484', '-34.88681,-56.13897'],
  ['Bulevar General Artigas 1825, Tres Cruces', '-34.89369,-56.16641'],
  ['Mercado del Puerto', '-34.90605,-56.21131'],
  ['Rambla Mahatma Gandhi 393', '-34.92505,-56.15533'],
  ['Rambla O’Higgins 5013', '-34.89663,-56.09814'],
  ['Sarandí 428', '-34.90804,-56.20629'],
  ['Teatro Solís', '-34.90819,-56.20008'],
]

type Choice = readonly [value: string, text: string]

const MODES: readonly Choice[] = ['car', 'truck', 'foot', 'bike', 'motorbike'].map((mode) => [mode, mode])

const UNITS: readonly Choice[] = [
  ['metric', 'metric'],
  ['imperial', 'imperial'],
]

const LANGUAGES: readonly Choice[] = [
  ['en', 'English'],
  ['de', 'Deutsch'],
  ['es', 'español'],
  ['fr', 'français'],
  ['ja', '日本語'],
  ['ko', '한국어'],
  ['pt', 'português'],
  ['ru', 'русский'],
]

const AVOIDABLE: readonly Choice[] = [
  ['tolls', 'tolls'],
  ['highways', 'highways'],
  ['ferries', 'ferries'],
  ['borderCrossings', 'border crossings'],
]

/** The page that requests directions and draws them, with the script routes.js. */
export function routesPage(): string {
  return page({
    title: 'Directions',
    here: ROUTES_PATH,
    styles: ['pages.css', 'maplibre-gl.css', 'routes.css'],
    scripts: ['trustedTypes.js', 'key.js'],
    module: 'routes.js',
    bar: keyField('prj_test_pk_…'),
    main: `<main class="routes">
<h1>Directions</h1>
<p>This page shows the result of <a href="/docs#/Routing/getV1RouteDirections">GET /v1/route/directions</a> on a map. Any key works, including a publishable one.
Type an address, the name of a place or <code>latitude,longitude</code>, or choose one of the places in the sample region, Montevideo.
See also the guides <a href="/docs/guides/routing">Routing</a>, <a href="/docs/guides/geocoding">Geocoding</a> and <a href="/docs/guides/regions">Regions</a>.</p>
<noscript>This page needs JavaScript.</noscript>
<form id="question" autocomplete="off">
${placeFields('from', 'From', 0)}
${placeFields('to', 'To', 1)}
<div class="options">
${choiceField('mode', 'Mode', MODES)}
${choiceField('units', 'Units', UNITS)}
${choiceField('lang', 'Language', LANGUAGES)}
<fieldset><legend>Avoid</legend>${AVOIDABLE.map(([value, text]) => `<label><input type="checkbox" name="avoid" value="${value}"> ${text}</label>`).join(' ')}</fieldset>
<button type="submit">Get directions</button>
</div>
</form>
<p id="trouble" role="alert"></p>
<p id="status" role="status"></p>
<section id="answer" aria-label="Directions" hidden>
<div class="map">
<div id="drawing" tabindex="0" role="region" aria-label="Drawing. Arrow keys move it, plus and minus zoom, 0 shows the whole way."><div id="background"></div></div>
<div class="zoom"><button type="button" data-zoom="in" aria-label="Zoom in">+</button><button type="button" data-zoom="out" aria-label="Zoom out">−</button><button type="button" data-zoom="all" aria-label="Show the whole way">⤢</button></div>
<a id="credit" href="https://www.openstreetmap.org/copyright"></a>
</div>
<div class="words">
<fieldset id="ways"><legend>Ways</legend></fieldset>
<ol id="steps"></ol>
</div>
</section>
</main>`,
  })
}

/**
 * The fields of a place.
 * @param chosen the index of the address that is chosen at first
 */
function placeFields(name: string, label: string, chosen: number): string {
  const options = PLACES.map(([text, coordinates], i) => option([coordinates, text], i === chosen))
  return `<fieldset class="place"><legend>${label}</legend>
<select name="${name}Place" aria-label="${label}: an address">${option(['', 'Type an address or coordinates'], false)}${options.join('')}</select>
<input name="${name}" aria-label="${label}: an address, or latitude,longitude" aria-describedby="${name}-found" list="${name}-list" maxlength="1000" value="${PLACES[chosen]![1]}" spellcheck="false" inputmode="text">
<datalist id="${name}-list"></datalist>
<p class="found" id="${name}-found"></p>
</fieldset>`
}

function choiceField(name: string, label: string, choices: readonly Choice[]): string {
  const options = choices.map((choice, i) => option(choice, i === 0))
  return `<label>${label} <select name="${name}">${options.join('')}</select></label>`
}

function option([value, text]: Choice, isSelected: boolean): string {
  return `<option value="${value}"${isSelected ? ' selected' : ''}>${text}</option>`
}
