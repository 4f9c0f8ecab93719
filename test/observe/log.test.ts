// Tests which lines the log writes at each level of LOG_LEVEL.

import type { Logger } from 'pino';
import { expect, it } from 'vitest';
import { createLog } from '../../src/observe/log.ts';

it.each([
  ['trace', true, true],
  ['debug', true, true],
  ['info', true, true],
  ['warn', false, true],
  ['error', false, true],
  ['fatal', false, true],
  ['silent', false, false],
] as const)(
  '%s: information is written is %s, what ended the process is %s',
  (level, ...written) => {
    const log = createLog(level) as Logger;
    expect([log.isLevelEnabled('info'), log.isLevelEnabled('fatal')]).toEqual(written);
  },
);
