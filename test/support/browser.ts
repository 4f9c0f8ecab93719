// Opens the console in a real browser: headless Chromium, as Debian packages it. Without one the suites are
// skipped, and the run says so; CI demands one (global-setup.ts).

import {
  type Browser,
  type BrowserContext,
  type CDPSession,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'vitest';
import { eventually } from './eventually.ts';
import { findBinary } from './find-binary.ts';
import { Hands } from './hands.ts';
import { member, type Person } from './person.ts';
import { type SharedNode, sharedNode } from './service-suite.ts';
import { createTenant, type Tenant } from './tenant.ts';

/** Browser window on the console, with the faults that occurred in it. */
export type Tab = {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly at: Hands<Page>;
  /**
   * Returns what no page of the console may cause: errors, dialogs, breaches of its policy. Empty when
   * all is well.
   */
  complaints(): Promise<readonly string[]>;
  /**
   * Lets time pass in all pages of this window, so that their polls are due at once. Each timer goes off
   * once.
   */
  pass(ms: number): Promise<void>;
  /** Lets time pass until an element is shown, or is there no more. */
  soon(element: Locator, state?: 'visible' | 'detached'): Promise<void>;
  close(): Promise<void>;
};

type TabOptions = {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
  /** Session token of a person who is signed in (`Person.token`). */
  readonly token?: string | undefined;
};

/** The first one has no window of its own to draw, whose pages cost as much as those under test. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
/**
 * Arguments of Chromium: it has no sandbox when it runs as root, and a container's shared memory may be
 * small. Without a process of its own for drawing a page costs 5 % less.
 */
const ARGUMENTS = ['--no-sandbox', '--disable-dev-shm-usage', '--in-process-gpu'];
const WAIT_MS = 60_000;
/** Milliseconds that pass in a page between two looks at it: no poll of the console is as frequent. */
const STEP_MS = 1500;
/** Milliseconds in which an element is to be shown, on a busy machine. */
const SHOWN_MS_MAX = 90_000;
/**
 * Makes deadlines of requests follow the time of the page, as its timers do, for a page whose requests
 * are not answered. Elsewhere a slow machine would miss them while time passes.
 */
export const DEADLINES_OF_PAGE = `AbortSignal.timeout = (ms) => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException('Timed out', 'TimeoutError')), ms);
  return controller.signal;
};`;
/** Milliseconds to read a page that a test has failed on, and how much of its text is told. */
const TEXT_MS_MAX = 5000;
const TEXT_LENGTH_MAX = 3000;

/** Chromium's binary, when there is one. */
export function findBrowser(): string | undefined {
  return NAMES.map((name) => findBinary(name)).find((found) => found !== undefined);
}

/** Starts Chromium; throws when there is none. */
function startBrowser(): Promise<Browser> {
  const executablePath = findBrowser();
  if (executablePath === undefined) throw new Error(`None of ${NAMES.join(', ')} is in PATH`);
  return chromium.launch({ executablePath, args: ARGUMENTS });
}

/** Runs a suite with a browser of its own; `browser` gives it from the suite's first `beforeAll` on. */
export function describeInBrowser(title: string, suite: (browser: () => Browser) => void): void {
  if (findBrowser() === undefined) {
    // biome-ignore lint/suspicious/noSkippedTests: the title tells what is missing on this machine.
    describe.skip(`${title} (skipped: no Chromium on this machine)`, () => suite(notStarted));
    return;
  }
  describe(title, () => {
    let started: Browser | undefined;
    beforeAll(async () => {
      started = await startBrowser();
    });
    afterAll(() => started?.close());
    // Before what the suite itself does after a test, which may close the page.
    suite(() => started ?? notStarted());
    afterEach(async ({ task }) => {
      if (task.result?.state === 'fail') console.error(await textsShown(started));
    });
  });
}

/** Returns the address and the text of each open page: why a test has failed often stands there. */
async function textsShown(browser: Browser | undefined): Promise<string> {
  const pages = browser?.contexts().flatMap((context) => context.pages()) ?? [];
  const texts = pages.map(async (page) => {
    const options = { timeout: TEXT_MS_MAX };
    const text = await page.locator('body').innerText(options).catch(String);
    return `${page.url()}\n${text.slice(0, TEXT_LENGTH_MAX)}`;
  });
  return (await Promise.all(texts)).join('\n\n');
}

function notStarted(): never {
  throw new Error('The browser was not started');
}

/** Opens a browser window that shares nothing with any other. */
export async function openTab(
  browser: Browser,
  node: { readonly url: string },
  options: TabOptions = {},
): Promise<Tab> {
  const { width = 1280, height = 900, theme = 'light', token } = options;
  const context = await browser.newContext({
    ...{ baseURL: node.url, viewport: { width, height }, colorScheme: theme },
    ...{ locale: 'en-GB', timezoneId: 'Europe/Berlin', reducedMotion: 'reduce' },
  });
  context.setDefaultTimeout(WAIT_MS);
  if (token !== undefined) await context.addCookies([sessionCookie(node.url, token)]);
  // This list outlives a reload of the page.
  const found: string[] = [];
  await context.exposeFunction('complainOfPolicy', (what: string) => found.push(`policy: ${what}`));
  await context.addInitScript(`document.addEventListener('securitypolicyviolation', (event) =>
    complainOfPolicy(event.violatedDirective + ' ' + event.blockedURI))`);
  await context.clock.install();
  const page = await context.newPage();
  listen(page, found);
  const pass = (ms: number) => context.clock.fastForward(ms);
  return {
    page,
    context,
    at: new Hands(page),
    async complaints() {
      // Events before this answer have arrived with it.
      await page.evaluate('1');
      return found.splice(0);
    },
    pass,
    async soon(element, state = 'visible') {
      await eventually(
        `it is ${state}: ${element}`,
        async () => {
          const isThere = await element.first().isVisible();
          if (isThere !== (state === 'visible')) await pass(STEP_MS);
          return isThere === (state === 'visible');
        },
        SHOWN_MS_MAX,
      );
    },
    close: () => context.close(),
  };
}

function sessionCookie(url: string, value: string) {
  const { hostname: domain } = new URL(url);
  const flags = { httpOnly: true, sameSite: 'Strict' as const };
  return { name: 'sluice_session', value, domain, path: '/console', ...flags };
}

function listen(page: Page, found: string[]): void {
  page.on('pageerror', (error) => found.push(`error: ${error.message}`));
  page.on('crash', () => found.push('the page crashed'));
  page.on('dialog', (dialog) => {
    found.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    // A refusal by the service is for the page to show, and the tests look at that.
    const isRefusal = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isRefusal) found.push(`console: ${message.text()}`);
  });
}

/** Opens an address of the console and waits until the page has its data. */
export async function visit(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await whenShown(page);
}

/** Waits until the page has a heading, a title, and its data. */
export async function whenShown(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  // The browser's own waiting would need `eval`, which the console's policy forbids.
  await eventually('the page has its data', () =>
    page.evaluate("document.title !== 'Sluice' && document.querySelector('.skeleton') === null"),
  );
}

/** Authenticator of a device whose owner is always there, and whom it knows. */
const AUTHENTICATOR = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

/** Gives the page Chromium's virtual authenticator, for passkeys; returns the session that controls it. */
export async function addAuthenticator(
  page: Page,
): Promise<{ readonly devices: CDPSession; readonly authenticatorId: string }> {
  const devices = await page.context().newCDPSession(page);
  await devices.send('WebAuthn.enable');
  const options = AUTHENTICATOR;
  const { authenticatorId } = await devices.send('WebAuthn.addVirtualAuthenticator', { options });
  return { devices, authenticatorId };
}

/** Counts what a person presses on a page from now on, until it is loaded again: clicks, and Enter as one. */
export async function countPresses(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(`(() => {
    window.presses = 0;
    addEventListener('click', () => { window.presses += 1; }, true);
  })()`);
  return () => page.evaluate('window.presses');
}

export type OwnerTab = Tab & {
  readonly tab: Tab;
  readonly tenant: Tenant;
  readonly owner: Person;
  /** Returns the address of a page of the app. */
  place(path?: string): string;
  /** Opens a page of the app. */
  open(path?: string): Promise<void>;
};

type OwnerSuite = (opened: () => OwnerTab, node: SharedNode, browser: () => Browser) => void;

/**
 * Runs a suite on the run's node; `opened` gives the owner of a new organization for each test, at the
 * console, whose page has no complaint after it.
 */
export function describeOwnerTab(title: string, suite: OwnerSuite): void {
  describeInBrowser(title, (browser) => {
    const node = sharedNode();
    let opened: OwnerTab | undefined;
    beforeEach(async () => {
      const tenant = await createTenant(node);
      const owner = await member(node, tenant.org, 'owner', 'Olga');
      await opened?.close();
      const tab = await openTab(browser(), node, { token: owner.token });
      const place = (path = '') => `/console/apps/${tenant.app}${path}`;
      const open = (path = '') => visit(tab.page, place(path));
      opened = { ...tab, tab, tenant, owner, place, open };
    });
    afterEach(async () => {
      expect(await opened?.complaints()).toEqual([]);
    });
    afterAll(() => opened?.close());
    suite(() => opened ?? notStarted(), node, browser);
  });
}
