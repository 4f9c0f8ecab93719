// What a person does and reads at the console, on a page or in a part of it.

import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { eventually } from './eventually.ts';

/** More presses of the Tab key than any page or dialog has controls. */
const TABS_MAX = 80;

type Name = string | RegExp;
/** Page, or a part of one such as a dialog. */
type Place = Page | Locator;

export class Hands<Of extends Place = Place> {
  readonly place: Of;

  constructor(place: Of) {
    this.place = place;
  }

  // Names and labels are exact, unless they are patterns; texts may be a part.

  button(name: Name): Locator {
    return this.place.getByRole('button', { name, exact: true });
  }

  link(name: Name): Locator {
    return this.place.getByRole('link', { name, exact: true });
  }

  heading(name: Name): Locator {
    return this.place.getByRole('heading', { name, exact: true });
  }

  row(name?: RegExp): Locator {
    return this.place.getByRole('row', name === undefined ? {} : { name });
  }

  field(label: Name): Locator {
    return this.place.getByLabel(label, { exact: true });
  }

  dialog(name?: Name): Hands<Locator> {
    return new Hands(this.place.getByRole('dialog', name === undefined ? {} : { name }));
  }

  region(name: Name): Hands<Locator> {
    return new Hands(this.place.getByRole('region', { name, exact: true }));
  }

  table(name: Name): Hands<Locator> {
    return new Hands(this.place.getByRole('table', { name }));
  }

  /** Presses buttons, one after the other. */
  async press(...names: readonly Name[]): Promise<void> {
    for (const name of names) await this.button(name).click();
  }

  /** Presses a button; returns the dialog that it opens. */
  async opens(button: Name, dialog?: Name): Promise<Hands<Locator>> {
    await this.press(button);
    const opened = this.dialog(dialog);
    await opened.place.waitFor();
    return opened;
  }

  /** Presses a button; returns the dialog of the act that it opens, once this says what it would do. */
  async ask(button: Name, act: string): Promise<Hands<Locator>> {
    const opened = await this.opens(button, act);
    await opened.place.getByRole('status', { name: 'What it would do' }).waitFor();
    return opened;
  }

  /** Presses the button that ends a dialog, and waits until this is gone. */
  async send(this: Hands<Locator>, name: Name): Promise<void> {
    await this.press(name);
    await gone(this);
  }

  /** Presses Escape, and waits until the dialog is gone. */
  async escape(this: Hands<Locator>): Promise<void> {
    await this.place.page().keyboard.press('Escape');
    await gone(this);
  }

  /** The mark of the step that a dialog shows. */
  get step(): Locator {
    return this.place.locator('[aria-current="step"]');
  }

  /** Goes on until a dialog shows this step; throws where a refusal leads back. */
  async toStep(name: string): Promise<void> {
    const passed: (string | null)[] = [];
    for (;;) {
      const before = await this.step.textContent();
      if (before === name) return;
      if (passed.includes(before)) {
        const alerts = await this.place.getByRole('alert').allTextContents();
        throw new Error(`Instead of ${name} it shows ${before} again: ${alerts}`);
      }
      passed.push(before);
      await this.press('Next');
      await eventually(
        `the step after ${before}`,
        async () => (await this.step.textContent()) !== before,
      );
    }
  }

  /** Goes to an element with the Tab key alone. */
  async tabTo(target: Locator): Promise<void> {
    await target.waitFor();
    for (let presses = 0; presses < TABS_MAX; presses++) {
      if (await isFocused(target)) return;
      await target.page().keyboard.press('Tab');
    }
    throw new Error('The Tab key does not reach it');
  }

  /** Chooses an action of a release that is in its menu. */
  async chooseMore(name: string): Promise<void> {
    await this.place.locator('summary[aria-label="More"]').click();
    await this.place.getByRole('button', { name }).click();
  }

  /** Follows links, one after the other. */
  async follow(...names: readonly Name[]): Promise<void> {
    for (const name of names) await this.link(name).click();
  }

  fill(label: Name, text: string): Promise<void>;
  fill(texts: Readonly<Record<string, string>>): Promise<void>;
  async fill(label: Name | Readonly<Record<string, string>>, text = ''): Promise<void> {
    if (typeof label === 'string' || label instanceof RegExp) return this.field(label).fill(text);
    for (const [each, value] of Object.entries(label)) await this.field(each).fill(value);
  }

  check(label: Name): Promise<void> {
    return this.field(label).check();
  }

  /** Fills in a field and presses Enter in it. */
  async enter(label: Name, text: string): Promise<void> {
    await this.fill(label, text);
    await this.field(label).press('Enter');
  }

  async choose(label: Name, option: string | { readonly label: string }): Promise<void> {
    await this.field(label).selectOption(option);
  }

  /** Waits until each of the texts is there once. */
  async reads(...texts: readonly Name[]): Promise<void> {
    for (const text of texts) await this.place.getByText(text).waitFor();
  }

  /** Waits until each of the texts is there, maybe more than once. */
  async finds(...texts: readonly Name[]): Promise<void> {
    for (const text of texts) await this.place.getByText(text).first().waitFor();
  }

  /** Waits until an alert says each of the texts. */
  async warns(...texts: readonly Name[]): Promise<void> {
    for (const text of texts) await this.place.getByRole('alert').getByText(text).waitFor();
  }

  /** Expects that none of the texts is there. */
  async lacks(...texts: readonly Name[]): Promise<void> {
    for (const text of texts) expect(await this.place.getByText(text).count()).toBe(0);
  }
}

/** Waits until a dialog, or another part of a page, is gone. */
export function gone({ place }: Hands<Locator>): Promise<void> {
  return place.waitFor({ state: 'detached' });
}

/** Returns whether an element has the focus. */
export function isFocused(target: Locator): Promise<boolean> {
  return target.evaluate((element) => element === element.ownerDocument.activeElement);
}
