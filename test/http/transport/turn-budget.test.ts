// Tests the bounds on answers that their clients do not read.

import { describe, expect, it } from 'vitest';
import { TurnBudget } from '../../../src/http/transport/turn-budget.ts';

const KIB = 1024;

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

  it('every large answer is looked at', () => {
    const { budget } = budgetOf();
    for (let count = 0; count < 10; count++) expect(budget.isLookedAt(20 * KIB)).toBe(true);
  });

  it('is exceeded from the first look of a turn to its end', () => {
    const { budget, endTurn, untilLook } = budgetOf();
    expect(budget.isExceeded).toBe(false);
    untilLook(700);
    expect(budget.isExceeded).toBe(true);
    endTurn();
    expect(budget.isExceeded).toBe(false);
  });

  it('is used up after 16 looks in one turn, and new in the next', () => {
    const { budget, endTurn, untilLook } = budgetOf();
    for (let look = 0; look < 16; look++) untilLook(0);
    expect(budget.isTurnUsedUp).toBe(false);
    untilLook(0);
    expect(budget.isTurnUsedUp).toBe(true);
    endTurn();
    expect(budget.isTurnUsedUp).toBe(false);
    untilLook(0);
    expect(budget.isTurnUsedUp).toBe(false);
  });
});
