// Tests which field of a form a refusal of the service is about, and what the console says of it.

import { expect, it } from 'vitest';
import { ApiError } from '../../src/console/api/call.ts';
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

it.each([
  [undefined, 'in a moment'],
  [1, 'in 1 second'],
  [89, 'in 89 seconds'],
  [90, 'in 2 minutes'],
  [898, 'in 15 minutes'],
])('too many requests: try again after %s seconds reads "%s"', (waitSeconds, text) => {
  const error = new ApiError(429, 'Rate limit exceeded', { waitSeconds });
  expect(error.advice).toBe(`Rate limit exceeded. Try again ${text}.`);
});

it('every other refusal reads as the service has it', () => {
  expect(new ApiError(409, 'It has changed', { waitSeconds: 5 }).advice).toBe('It has changed');
});
