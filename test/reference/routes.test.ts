/**
 * The page that draws directions, in a real browser: it waits for the region, requests routes, draws and lists them,
 * and shows errors.
 */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { drivePage, skipWithoutChromium, WEBGL_FLAGS } from '../kit/chromium.ts'
import { addSample } from '../kit/sampleRegion.ts'
import { KEYS, startServer } from '../kit/server.ts'

const server = await startServer(t)

/** Defined in the page for use in the expressions below. */
const HELPERS = `
  globalThis.$ = (selector) => document.querySelector(selector)
  globalThis.$$ = (selector) => [...document.querySelectorAll(selector)]
  globalThis.fill = (selector, value) => {
    $(selector).value = value
    for (const name of ['input', 'change']) $(selector).dispatchEvent(new Event(name))
  }
  globalThis.ask = () => $('#question button').click()
  globalThis.text = (selector) => $(selector).textContent
  // Ten times as fast: what waits for seconds.
  const wait = setTimeout
  globalThis.setTimeout = (work, milliseconds) => wait(work, milliseconds / 10)`

t.test('the form offers what the API accepts', async (t) => {
  const { body: html } = await server.api('GET', '/docs/routes', undefined, null)
  const { body: document } = await server.api('GET', '/v1/openapi.json')
  const { parameters } = document.paths['/v1/route/directions'].get
  for (const name of ['mode', 'units', 'lang']) {
    const schema = parameters.find((parameter: { name: string }) => parameter.name === name).schema
    const taken = schema.enum ?? schema.anyOf.map((one: { const: string }) => one.const)
    const [select] = new RegExp(`<select name="${name}">.*?</select>`, 's').exec(html)!
    const offered = Array.from(select.matchAll(/value="([^"]*)"/g), ([, value]) => value)
    t.strictSame(offered.sort(), [...taken].sort(), name)
  }
})

t.test('directions in a browser', { skip: skipWithoutChromium() }, async (t) => {
  // Inside the data folder, so that it can be moved to its place as a whole.
  const made = join(server.data, 'made')
  await addSample(made)
  const { run, until, complaints } = await drivePage(t, `${server.url}/docs/routes`, WEBGL_FLAGS)
  await run(HELPERS)

  await t.test(
    'without a key it says where one goes, and with a wrong one what the server says',
    async (t) => {
      await run('ask()')
      await until(`text('#trouble') !== ''`)
      t.equal(await run(`text('#trouble')`), 'Put a key into the field at the top.')
      t.equal(await run('document.activeElement.id'), 'key')
      await run(`fill('#key', 'prj_test_pk_unknown'); ask()`)
      await until(`text('#trouble').startsWith('401: ')`)
      t.equal(await run('document.activeElement.id'), 'key')
    },
  )

  await t.test('it waits for the region, and tries again by itself', async (t) => {
    await run(`fill('#key', '${KEYS.testPublishable}'); ask()`)
    await until(`text('#status').endsWith('Trying again every 10 s.')`)
    t.match(await run(`text('#status')`), /region/)
    t.equal(await run(`text('#trouble')`), '')
    renameSync(join(made, 'regions'), join(server.data, 'regions'))
    await until(`!$('#answer').hidden`)
    t.match(await run(`text('#status')`), /^\d\.\d km, \d+ mins, and (another way|\d other ways)\.$/)
    t.equal(await run(`sessionStorage.getItem('ringfence.key')`), KEYS.testPublishable)
  })

  const query = new URLSearchParams({
    locations: (await run(`$('[name=from]').value + '|' + $('[name=to]').value`)) as string,
    units: 'metric',
    alternatives: 'true',
    geometry: 'linestring',
  })
  const { body } = await server.api('GET', `/v1/route/directions?${query}`)
  const { routes } = body
  const stepsOf = (route: { legs: { steps: { instructions: string }[] }[] }) =>
    route.legs[0]!.steps.map(({ instructions }) => instructions)
  const listed = () => run(`$$('#steps button span').map((step) => step.textContent)`)

  await t.test('routes, turns and steps are those of the answer', async (t) => {
    t.ok(routes.length > 1)
    t.equal(await run(`$$('.ways .chosen').length`), 1)
    t.equal(await run(`$$('.ways .other').length`), routes.length - 1)
    t.equal(await run(`$$('#ways input').length`), routes.length)
    t.strictSame(await listed(), stepsOf(routes[0]))
    t.equal(await run(`$$('.turn').length`), stepsOf(routes[0]).length - 2)
    t.match(await run(`text('#credit')`), body.meta.attribution)
    await until(`$('#drawing').classList.contains('mapped') && text('#credit').includes('Natural Earth')`)
    const points = await run(`$('.ways .chosen').getAttribute('d').match(/[ML]/g).length`)
    t.equal(points, routes[0].geometry.coordinates.length)
  })

  await t.test('it is to scale: the length of the route matches the scale bar', async (t) => {
    // Lengths on the screen, independent of transforms.
    const { meters, bar, isInside } = (await run(`(() => {
      const way = $('.ways .chosen')
      const scale = way.getScreenCTM().a
      const frame = $('#drawing').getBoundingClientRect()
      const { left, right, top, bottom } = way.getBoundingClientRect()
      const [, length, unit] = /^(\\d+) (k?m)$/.exec(text('#drawing svg > text'))
      return {
        meters: way.getTotalLength(),
        bar: $('.bar').getBBox().width / scale / (length * (unit === 'km' ? 1000 : 1)),
        isInside: left > frame.left && right < frame.right && top > frame.top && bottom < frame.bottom,
      }
    })()`)) as { meters: number; bar: number; isInside: boolean }
    t.ok(Math.abs(meters / routes[0].distance.value - 1) < 0.01, `${meters} m of ${routes[0].distance.value}`)
    t.ok(Math.abs(bar - 1) < 0.01, `the bar is ${bar} of what it says`)
    t.ok(isInside)
  })

  await t.test('a step highlights its part of the route, and a turn its step', async (t) => {
    await run(`$$('#steps button')[1].dispatchEvent(new PointerEvent('pointerenter'))`)
    const points = await run(`$('.ways .piece').getAttribute('d').match(/[ML]/g).length`)
    t.equal(points, routes[0].legs[0].steps[1].geometry.coordinates.length)
    await run(`$$('#steps button')[1].dispatchEvent(new PointerEvent('pointerleave'))`)
    t.equal(await run(`$('.ways .piece').getAttribute('d')`), '')
    await run(`$$('.turn')[1].dispatchEvent(new PointerEvent('pointerenter'))`)
    t.strictSame(await run(`$$('#steps li').map((item) => item.className)`), [
      '',
      '',
      'marked',
      ...Array(stepsOf(routes[0]).length - 3).fill(''),
    ])
  })

  await t.test('keys, wheel and pointer move and zoom it', async (t) => {
    const view = async () => {
      const [x, y, scale] = (await run(
        `$('.ways').getAttribute('transform').match(/-?[\\d.]+(e-?\\d+)?/g).map(Number)`,
      )) as number[]
      return { x: x!, y: y!, scale: scale! }
    }
    const key = (name: string) =>
      run(`$('#drawing').dispatchEvent(new KeyboardEvent('keydown', { key: '${name}' }))`)
    const whole = await view()
    await key('ArrowRight')
    t.match(await view(), { x: whole.x - 60, y: whole.y })
    await key('+')
    t.ok((await view()).scale > whole.scale)
    await key('0')
    t.strictSame(await view(), whole)
    const wheel = (init: string) =>
      run(`$('#drawing').dispatchEvent(new WheelEvent('wheel', { deltaY: -100, cancelable: true, ${init} }))`)
    t.equal(await wheel(''), true, 'who scrolls the page goes on scrolling')
    t.strictSame(await view(), whole)
    await run(`$('#drawing').focus()`)
    t.equal(await wheel(''), false)
    t.ok((await view()).scale > whole.scale)
    await run(`$('[data-zoom=all]').click()`)
    t.strictSame(await view(), whole)
    const pointer = (type: string, place: number, id = 1, buttons = 1) =>
      run(
        `$('#drawing').dispatchEvent(new PointerEvent('${type}', { pointerId: ${id}, buttons: ${buttons}, clientX: ${place}, clientY: 400 }))`,
      )
    // Two fingers move apart to twice their distance.
    await pointer('pointerdown', 300)
    await pointer('pointerdown', 400, 2)
    await pointer('pointermove', 500, 2)
    t.ok(Math.abs((await view()).scale / whole.scale - 2) < 1e-9)
    await pointer('pointerup', 300)
    await pointer('pointerup', 500, 2)
    await pointer('pointermove', 700)
    t.ok(Math.abs((await view()).scale / whole.scale - 2) < 1e-9, 'who has let go moves nothing')
    await pointer('pointerdown', 300)
    await pointer('pointermove', 301)
    const before = await view()
    await pointer('pointermove', 600, 1, 0)
    t.strictSame(await view(), before, 'nor who has let go elsewhere')
    await key('0')
  })

  await t.test('another route is chosen in the list or in the drawing', async (t) => {
    await run(`$$('#ways input')[1].click()`)
    t.strictSame(await listed(), stepsOf(routes[1]))
    t.equal(await run(`$$('.turn').length`), stepsOf(routes[1]).length - 2)
    await run(`$('.ways .other').dispatchEvent(new MouseEvent('click', { bubbles: true }))`)
    t.equal(await run(`$$('#ways input')[0].checked`), true)
    t.strictSame(await listed(), stepsOf(routes[0]))
  })

  await t.test('mode, units and language are sent', async (t) => {
    await run(
      `fill('[name=mode]', 'foot'); fill('[name=units]', 'imperial'); fill('[name=lang]', 'es'); ask()`,
    )
    await until(`/ mi, /.test(text('#status'))`)
    t.match(await run(`text('#steps span')`), /^(Camine|Dirígete|Diríjase|Camina)/)
    t.equal(await run(`$('#steps').lang`), 'es')
    t.match(await run(`text('#drawing svg > text')`), /^\d+ (mi|ft)$/)
  })

  await t.test('an address of the list is written as coordinates, and recognised by them', async (t) => {
    await run(`fill('[name=toPlace]', '-34.90819,-56.20008')`)
    t.equal(await run(`$('[name=to]').value`), '-34.90819,-56.20008')
    await run(`fill('[name=to]', '-34.9')`)
    t.equal(await run(`$('[name=toPlace]').selectedOptions[0].textContent`), 'Type an address or coordinates')
  })

  await t.test('any address and any place, from where to where', async (t) => {
    await run(`fill('[name=from]', '18 de julio 1056, montevideo'); fill('[name=to]', 'Teatro Solís'); ask()`)
    await until(`text('#from-found') !== '' && text('#status').includes(' mi, ')`)
    t.equal(await run(`text('#from-found')`), 'Avenida 18 de Julio 1056, Montevideo, Uruguay')
    t.match(await run(`text('#to-found')`), /^Teatro Solís, .*Montevideo, Uruguay$/)
    t.equal(await run(`$('[name=fromPlace]').value`), '')
    t.equal(await run(`$('#answer').hidden`), false)

    await run(`fill('[name=to]', 'bulevar españa 268')`)
    t.equal(await run(`text('#to-found')`), '', 'no longer what was found')
    await until(`$$('#to-list option').length > 1`)
    const offered = (await run(`$$('#to-list option').map(({ value }) => value)`)) as string[]
    for (const one of offered) t.match(one, /^Bulevar España 268\d*(?: BIS)?, Montevideo, Uruguay$/)
    await run(`fill('[name=to]', ${JSON.stringify(offered[0])}); ask()`)
    await until(`text('#status').includes(' mi, ')`)

    await run(`fill('[name=to]', 'Qwxyz 12'); ask()`)
    await until(`text('#trouble') !== ''`)
    t.equal(await run(`text('#trouble')`), 'No region of this server has “Qwxyz 12”.')
    t.strictSame(await run(`$$('[aria-invalid]').map(({ name }) => name)`), ['to'])
    await run(`fill('[name=to]', ${JSON.stringify(offered[0])}); ask()`)
    await until(`text('#trouble') === '' && text('#status').includes(' mi, ')`)
    await run(`fill('[name=to]', '-34.9')`)
  })

  await t.test('an error is shown in the server’s words, at its field', async (t) => {
    await run('ask()')
    await until(`text('#trouble') !== ''`)
    t.match(await run(`text('#trouble')`), /^400: locations: Number 2: /)
    t.equal(await run(`$('#answer').hidden`), true)
    t.strictSame(await run(`$$('[aria-invalid]').map(({ name }) => name)`), ['to'])
    await run(`fill('[name=from]', '36.97,-122.03'); fill('[name=to]', '-34.9061,-56.1934'); ask()`)
    await until(`text('#trouble').includes('outside of every region')`)
    t.strictSame(await run(`$$('[aria-invalid]').map(({ name }) => name)`), ['from'])
    await run(`fill('[name=from]', '-34.9053,-56.1914'); fill('[name=to]', '-34.9400,-56.2000'); ask()`)
    await until(`text('#trouble').endsWith('The limit is 1000 m.')`)
    t.match(await run(`text('#trouble')`), /^404: /)
  })

  const unexpected = complaints.filter(
    (complaint) => !/the server responded with a status of \d+/.test(complaint),
  )
  t.strictSame(unexpected, [], 'nothing was thrown, and the policy of the page refused nothing')
})
