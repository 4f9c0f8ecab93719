// Tests the short words for a browser.

import { expect, it } from 'vitest';
import { browserName } from '../../src/access/browser-name.ts';

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)';

it.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/138.0 Safari/537.36 Edg/138.0`,
    'Edge on Windows',
  ],
  [
    `Mozilla/5.0 (Linux; Android 10; K) ${WEBKIT} Chrome/138.0 Mobile Safari/537.36`,
    'Chrome on Android',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Version/18.0 Safari/604.1',
    'Safari on iPhone',
  ],
  ['curl/8.5.0', 'curl'],
  ['<script>alert(1)</script>', 'Unknown browser'],
  ['', 'Unknown browser'],
  [undefined, 'Unknown browser'],
])('%j is %j', (agent, name) => {
  expect(browserName(agent)).toBe(name);
});
