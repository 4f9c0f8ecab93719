// Tests what the console says of refusals of the service.

import { expect, it } from 'vitest';
import { ApiError } from '../../src/console/api/call.ts';

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
