// Tests the budget of request bodies: large ones leave room for small ones, and what was held is given back.

import { expect, it } from 'vitest';
import { BodyBudget } from '../../src/http/transport/exchange.ts';

const MIB = 1024 * 1024;

it('takes small bodies up to its size, and large ones up to half of it', () => {
  const budget = new BodyBudget(8 * MIB);
  const isHeld = (bodyBytes: number, chunkBytes: number) => budget.hold(bodyBytes, chunkBytes);
  expect(isHeld(4 * MIB, 4 * MIB)).toBe(true);
  expect(isHeld(MIB + 1, 1)).toBe(false);
  expect(isHeld(MIB, MIB)).toBe(true);
  expect(isHeld(MIB, 3 * MIB)).toBe(true);
  expect(isHeld(1, 1)).toBe(false);
  budget.release(4 * MIB);
  expect(isHeld(1, 1)).toBe(true);
});
