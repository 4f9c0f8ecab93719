// Tests which field of a form a refusal of the service is about.

import { expect, it } from 'vitest';
import { isAt, readFieldError } from '../../src/console/form/field-error.ts';

it.each([
  ['version: Must be a version', { path: 'version', reason: 'Must be a version' }],
  [
    'artifacts.0.url: Must be: one\nline',
    { path: 'artifacts.0.url', reason: 'Must be: one\nline' },
  ],
  [
    'targets.matchExpressions.0.key: Unknown',
    { path: 'targets.matchExpressions.0.key', reason: 'Unknown' },
  ],
  ['The service answered 500', undefined],
  ['Too much at once: later', undefined],
  ['0.url: Must be a URL', undefined],
  ['version: ', undefined],
  [undefined, undefined],
])('%j names %j', (message, error) => {
  expect(readFieldError(message)).toEqual(error);
});

it.each([
  ['url', 'url', true],
  ['artifacts.0.url', 'artifacts.0.url', true],
  ['artifacts', 'artifacts.0.url', true],
  ['artifacts.0', 'artifacts.01.url', false],
  ['artifacts.0.url', 'artifacts', false],
  [undefined, 'url', false],
])('the field %s is meant by %s: %s', (name, path, isMeant) => {
  expect(isAt(name, { path, reason: '' })).toBe(isMeant);
});
