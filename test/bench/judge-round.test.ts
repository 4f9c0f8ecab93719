// Tests which rounds of a benchmark count.

import { describe, expect, it } from 'vitest';
import { agree, judgePacedRound, judgeRound } from '../../bench/measure/judge-round.ts';

describe('a round', () => {
  it('is good when the server had its processor', () => {
    expect(judgeRound({ server: 0.97, generatorSide: 0.8, foreign: 0.02, stolen: 0 })).toBe('good');
  });

  it('is disturbed when other processes worked, whatever the server had', () => {
    expect(judgeRound({ server: 0.97, generatorSide: 0.8, foreign: 0.2, stolen: 0 })).toBe(
      'disturbed',
    );
    expect(judgePacedRound({ server: 0.5, generatorSide: 1, foreign: 0.2, stolen: 0 })).toBe(
      'disturbed',
    );
  });

  it('is disturbed when the host gave a processor to others, however the rest looks', () => {
    expect(judgeRound({ server: 0.97, generatorSide: 0.8, foreign: 0, stolen: 0.05 })).toBe(
      'disturbed',
    );
    expect(judgePacedRound({ server: 0.5, generatorSide: 1, foreign: 0, stolen: 0.05 })).toBe(
      'disturbed',
    );
  });

  it('is disturbed when neither side was busy: somebody took their time', () => {
    expect(judgeRound({ server: 0.8, generatorSide: 0.8, foreign: 0.01, stolen: 0 })).toBe(
      'disturbed',
    );
  });

  it('is kept, with that remark, when the generator was full first', () => {
    expect(judgeRound({ server: 0.8, generatorSide: 0.98, foreign: 0.01, stolen: 0 })).toBe(
      'generator-bound',
    );
  });

  it('need not saturate anything in the open loop', () => {
    expect(judgePacedRound({ server: 0.5, generatorSide: 0.5, foreign: 0.01, stolen: 0 })).toBe(
      'good',
    );
  });

  it('is taken as it is where the system does not tell who used the processors', () => {
    const unknown = {
      server: Number.NaN,
      generatorSide: Number.NaN,
      foreign: Number.NaN,
      stolen: 0,
    };
    expect(judgeRound(unknown)).toBe('good');
    expect(judgePacedRound(unknown)).toBe('good');
  });
});

describe('two ratios', () => {
  it('agree within five percent', () => {
    expect(agree(0.8, 0.83)).toBe(true);
    expect(agree(0.8, 0.85)).toBe(false);
    expect(agree(0.8, Number.NaN)).toBe(true);
  });
});
