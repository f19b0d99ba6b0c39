import { keyField, page, PLAYGROUND_PATH } from './pages.ts'

const ANY_CHAIN = 'Chains or categories, separated by commas'

/** The page that tries the geo services on a map, with the script playground.js. */
export function playgroundPage(): string {
  return page({
    title: 'Playground',
    here: PLAYGROUND_PATH,
    styles: ['pages.css', 'maplibre-gl.css', 'playground.css'],
    scripts: ['trustedTypes.js', 'key.js'],
    module: 'playground.js',
    bar: keyField('prj_test_pk_…'),
    main: `<main class="playground">
<h1>Playground</h1>
<p>Addresses and places of your <a href="/docs/guides/regions">regions</a>, on your server's own <a href="/docs/guides/maps">map</a>. Any key works, including a publishable one.
Everything that this page shows is an answer of the API; the guide <a href="/docs/guides/geocoding">Geocoding</a> explains it.</p>
<noscript>This page needs JavaScript.</noscript>
<div class="columns">
<section class="asking" aria-label="Questions">
<fieldset class="kinds"><legend>What to try</legend>
${kind('search', 'Find an address', true)}${kind('places', 'Places around a point')}${kind('validate', 'Validate an address')}${kind('reverse', 'What is here')}
</fieldset>
<form id="search" autocomplete="off">
<label>Address or name <input name="query" type="search" maxlength="1000" placeholder="18 de Julio 1056" spellcheck="false" aria-describedby="search-help"></label>
<p id="search-help" class="help">Results come as you type, those near the middle of the map first. Enter finds the best ones.</p>
</form>
<form id="places" autocomplete="off" hidden>
<label>${ANY_CHAIN} <input name="wanted" value="food-beverage" spellcheck="false"></label>
<div class="row"><label>Radius in metres <input name="radius" type="number" value="1000" min="1" max="10000"></label>
<label>Most <input name="limit" type="number" value="20" min="1" max="100"></label></div>
<button type="submit">Find places</button>
<p class="help">Around the middle of the map, or where you click.</p>
</form>
<form id="validate" autocomplete="off" hidden>
<label>First line <input name="addressLabel" value="1414 Pacific Ave" spellcheck="false"></label>
<div class="row"><label>City <input name="city" value="Santa Cruz" spellcheck="false"></label>
<label>State <input name="stateCode" value="CA" maxlength="2" spellcheck="false"></label></div>
<div class="row"><label>Postal code <input name="postalCode" value="95060" spellcheck="false"></label>
<label>Country <select name="countryCode"><option>US</option><option>CA</option></select></label></div>
<button type="submit">Validate</button>
<p class="help">Addresses of the United States and Canada, compared with the houses that your regions know.</p>
</form>
<form id="reverse" autocomplete="off" hidden>
<label>Point <input name="coordinates" placeholder="latitude,longitude" spellcheck="false"></label>
<button type="submit">What is here?</button>
<p class="help">Click on the map, or enter a point. Without one, the middle of the map counts.</p>
</form>
<p id="trouble" role="alert"></p>
<p id="status" role="status"></p>
<ol id="results" aria-label="Results"></ol>
<details id="raw" hidden><summary>The call and its answer</summary><code id="call"></code><pre id="answer" tabindex="0"></pre></details>
</section>
<section class="shown" aria-label="Map">
<div id="map"></div>
<p id="no-map" hidden>There is no map here, because this browser has no WebGL or the package maplibre-gl is not installed. The lists work without it.</p>
<a id="credit" href="https://www.openstreetmap.org/copyright"></a>
</section>
</div>
</main>`,
  })
}

function kind(value: string, text: string, isChosen = false): string {
  return `<label><input type="radio" name="kind" value="${value}"${isChosen ? ' checked' : ''}> ${text}</label> `
}
