/**
 * Compiled checks of values by the schemas of an OpenAPI document.
 *
 * Compiling the schemas of a few routes takes as long as half a start of a server, and most test files ask the same
 * routes. So the code of a check is kept for the later files of a run, which then do not even load the compiler.
 */
import { hash } from 'node:crypto'
import { createRequire } from 'node:module'
import { compileFunction } from 'node:vm'
import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js'
import { keepText, keptText } from './keptTexts.ts'

const require = createRequire(import.meta.url)

/** The form of dates in the interface: in UTC, with milliseconds. Native clients fail on anything else. */
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

export class AnswerChecks {
  readonly #document: object
  readonly #hash: string
  readonly #checks = new Map<string, ValidateFunction>()
  #ajv: Ajv2020 | undefined

  /** @param text the JSON of the document */
  constructor(document: object, text: string) {
    this.#document = document
    this.#hash = hash('sha1', text)
  }

  /**
   * The check of a schema. Its `errors` say what is wrong with the value that it was given last.
   * @param pointer to the schema in the document, as a fragment of a URI: `#/paths/~1v1~1track`
   */
  of(pointer: string): ValidateFunction {
    let check = this.#checks.get(pointer)
    if (check !== undefined) return check
    const name = `check ${this.#hash} ${pointer}`
    let code = keptText(name)
    if (code === undefined) keepText(name, (code = this.#codeOf(pointer)))
    const made = { exports: {} }
    compileFunction(code, ['module', 'require'])(made, require)
    check = made.exports as ValidateFunction
    this.#checks.set(pointer, check)
    return check
  }

  #codeOf(pointer: string): string {
    // Loaded here, because most files find all code that they need.
    const { Ajv2020: Compiler } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
    const { default: codeOf } =
      require('ajv/dist/standalone') as typeof import('ajv/dist/standalone/index.js')
    if (this.#ajv === undefined) {
      this.#ajv = new Compiler({
        strict: false,
        // Improving the code of a check takes longer than a file's answers would gain by it.
        code: { source: true, optimize: false },
        // Texts are checked by the server. What matters here is the form of the answer.
        formats: { 'date-time': DATE_TIME, binary: true },
      })
      // Without a check of the document as a schema: its own tests make that, and here it would find nothing.
      this.#ajv.addSchema(this.#document, 'api', false, false)
    }
    return codeOf(this.#ajv, this.#ajv.compile({ $ref: `api${pointer}` }))
  }
}
