// Tests the budgets: of answers that their clients do not read, and of request bodies, of which large ones
// leave room for small ones, and what was held is given back.

import { describe, expect, it } from 'vitest';
import { BodyBudget } from '../../../src/http/transport/exchange.ts';
import { TurnBudget } from '../../../src/http/transport/turn-budget.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

function budgetOf(random = 0.5) {
  const ends: (() => void)[] = [];
  const budget = new TurnBudget(
    () => random,
    (listener) => ends.push(listener),
  );
  const endTurn = () => {
    for (const end of ends.splice(0)) end();
  };
  /** Number of answers until one is looked at, that one included. */
  const untilLook = (bodyBytes: number): number => {
    let count = 1;
    while (!budget.isLookedAt(bodyBytes)) count += 1;
    return count;
  };
  untilLook(0);
  endTurn();
  return { budget, endTurn, untilLook };
}

describe('the budget of a turn', () => {
  it.each([0, 0.3, 0.999])('no more answers than are gathered go without a look (%s)', (random) => {
    for (const bodyBytes of [0, 100, 700, 4 * KIB]) {
      const { untilLook } = budgetOf(random);
      for (let look = 0; look < 5; look++) {
        const answers = untilLook(bodyBytes) - 1;
        expect(answers * (bodyBytes + 512)).toBeLessThan(16 * KIB);
        expect((answers + 1) * (bodyBytes + 512)).toBeGreaterThanOrEqual(8 * KIB);
      }
    }
  });

  it('looks at every large answer, and is exceeded from the first look of a turn to its end', () => {
    const { budget, endTurn, untilLook } = budgetOf();
    expect(budget.isExceeded).toBe(false);
    untilLook(700);
    expect(budget.isExceeded).toBe(true);
    endTurn();
    expect(budget.isExceeded).toBe(false);
    for (let count = 0; count < 10; count++) expect(budget.isLookedAt(20 * KIB)).toBe(true);
  });

  it('is used up after 16 looks in one turn, and new in the next', () => {
    const { budget, endTurn, untilLook } = budgetOf();
    const looks = Array.from({ length: 18 }, (_, at) => {
      if (at === 17) endTurn();
      untilLook(0);
      return budget.isTurnUsedUp;
    });
    expect(looks).toEqual([...Array(16).fill(false), true, false]);
  });
});

it('the budget of bodies takes small ones up to its size, and large ones up to half of it', () => {
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
