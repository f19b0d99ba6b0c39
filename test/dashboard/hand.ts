/** How a person works with a page: with a mouse alone, or with a keyboard alone. Nothing reaches what cannot be seen or focused. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Locator, Page } from 'playwright-core'

/** More presses of Tab than any page needs. */
const MOST_TABS = 150
/** More looks at a page than it needs to show something that moves into view. */
const MOST_LOOKS = 200
const LOOK_MS = 50
/** What of a page is certainly not behind its bars at the top and the bottom. */
const CLEAR = { top: 60, bottom: 60 }

export interface Hand {
  readonly name: 'mouse' | 'keyboard'
  readonly page: Page
  /** Presses a button, a link, a row, or what opens more of a page. */
  press(target: Locator): Promise<void>
  /** Writes a text into a field, in place of what it has. */
  write(target: Locator, text: string): Promise<void>
  /** Opens the hours of one day, both included. */
  openHours(day: string, first: number, last: number): Promise<void>
}

/** The mouse. Texts come without keys: from a manager of passwords, or a keyboard on the screen. */
export class MouseHand implements Hand {
  readonly name = 'mouse'
  readonly page: Page

  constructor(page: Page) {
    this.page = page
  }

  async press(target: Locator): Promise<void> {
    await this.#over(target)
    await this.page.mouse.down()
    await this.page.mouse.up()
  }

  async write(target: Locator, text: string): Promise<void> {
    await this.#over(target)
    // Three clicks choose the whole line.
    for (let count = 1; count <= 3; count++) {
      await this.page.mouse.down({ clickCount: count })
      await this.page.mouse.up({ clickCount: count })
    }
    await this.page.keyboard.insertText(text)
  }

  async openHours(day: string, first: number, last: number): Promise<void> {
    await this.#over(hourOf(this.page, day, first))
    await this.page.mouse.down()
    for (let hour = first + 1; hour <= last; hour++) await this.#over(hourOf(this.page, day, hour))
    await this.page.mouse.up()
  }

  /** Turns the wheel until the element can be seen, and moves over it. @throws Error if something else lies over it */
  async #over(target: Locator): Promise<void> {
    await target.waitFor()
    const { mouse } = this.page
    const { width, height } = this.page.viewportSize()!
    for (let look = 0; look < MOST_LOOKS; look++) {
      const box = await target.boundingBox()
      if (box !== null) {
        const x = Math.min(Math.max(box.x + box.width / 2, 1), width - 1)
        const y = box.y + box.height / 2
        if (y < CLEAR.top || y > height - CLEAR.bottom) {
          await mouse.move(x, height / 2)
          await mouse.wheel(0, y - height / 2)
        }
        const after = await target.boundingBox()
        if (after !== null) {
          await mouse.move(x, after.y + after.height / 2)
          if ((await target.and(this.page.locator(':hover')).count()) > 0) return
        }
      }
      await sleep(LOOK_MS)
    }
    throw new Error(`the mouse does not reach ${String(target)}`)
  }
}

/** The keyboard, as people use it who see only what is focused. */
export class KeyboardHand implements Hand {
  readonly name = 'keyboard'
  readonly page: Page

  constructor(page: Page) {
    this.page = page
  }

  async press(target: Locator): Promise<void> {
    await this.tabTo(target)
    await this.page.keyboard.press('Enter')
  }

  async write(target: Locator, text: string): Promise<void> {
    await this.tabTo(target)
    await this.page.keyboard.press('Control+a')
    await this.page.keyboard.type(text)
  }

  async openHours(day: string, first: number, last: number): Promise<void> {
    const { keyboard } = this.page
    await this.tabTo(this.page.locator('.hours-grid button[tabindex="0"]'))
    const cell = hourOf(this.page, day, first)
    for (let steps = 0; steps < 7 && (await isFocusedIn(this.page, day)) === false; steps++)
      await keyboard.press('ArrowDown')
    for (let steps = 0; steps < 24 && !(await isFocused(this.page, cell)); steps++)
      await keyboard.press('ArrowRight')
    for (let hour = first; hour <= last; hour++) {
      await keyboard.press('Space')
      await keyboard.press('ArrowRight')
    }
  }

  /** Goes on with the Tab key until the element has the focus. @throws Error if it never has */
  async tabTo(target: Locator): Promise<void> {
    await target.waitFor()
    for (let presses = 0; presses < MOST_TABS; presses++) {
      if (await isFocused(this.page, target)) return
      await this.page.keyboard.press('Tab')
    }
    throw new Error(`the Tab key does not reach ${String(target)}`)
  }
}

async function isFocused(page: Page, target: Locator): Promise<boolean> {
  return (await target.and(page.locator(':focus')).count()) > 0
}

async function isFocusedIn(page: Page, day: string): Promise<boolean> {
  return (await page.locator(`.hours-grid button:focus[aria-label^="${day} "]`).count()) > 0
}

function hourOf(page: Page, day: string, hour: number): Locator {
  return page.getByRole('button', { name: `${day} ${String(hour).padStart(2, '0')}:00` })
}
