// Tests the hours of the week in which steps begin, over changes of the clock (docs/contract.md 27.11).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WEEK_DAYS } from '../../../src/contract/choice.ts';
import type { RaiseHours } from '../../../src/contract/rollout-plan.ts';
import { isTimeZone, nextOpening } from '../../../src/domain/rollout/next-opening.ts';
import { PROPERTY_RUNS } from '../../support/property-runs.ts';

function hours(parts: Partial<RaiseHours>): RaiseHours {
  return { days: [...WEEK_DAYS], from: '09:00', to: '17:00', timeZone: 'Europe/Berlin', ...parts };
}

describe('the next opening', () => {
  const night = { days: ['mon'], from: '22:00', to: '06:00' } as const;
  const gap = { from: '02:30', to: '05:00' };
  const skipped = { days: ['sun'], from: '02:00', to: '03:00' } as const;
  const kiritimati = { timeZone: 'Pacific/Kiritimati', days: ['tue'] } as const;
  const lordHowe = { timeZone: 'Australia/Lord_Howe', from: '02:15', to: '04:00' };

  it.each<[string, Partial<RaiseHours>, now: string, opening: string]>([
    ['is the moment itself within the hours', {}, '01-04T12:00', '01-04T12:00'],
    ['from is within the hours', {}, '01-04T08:00', '01-04T08:00'],
    ['to is not', {}, '01-04T16:00', '01-05T08:00'],
    ['a day that is not named is passed over', { days: ['wed'] }, '01-04T12:00', '01-06T08:00'],
    ['a week later where only today is named', { days: ['mon'] }, '01-04T16:00', '01-11T08:00'],
    ['hours over midnight go on until the next day', night, '01-05T04:00', '01-05T04:00'],
    ['hours over midnight end there', night, '01-05T05:00', '01-11T21:00'],
    ['one that the clock leaves out comes right after the gap', gap, '03-28T00:00', '03-28T01:00'],
    ['of one that comes twice the first counts', gap, '10-31T00:00', '10-31T00:30'],
    ['half an hour', { timeZone: 'Asia/Kolkata' }, '01-04T00:00', '01-04T03:30'],
    ['a zone that is a day ahead', kiritimati, '01-04T10:00', '01-04T19:00'],
    ['a gap of half an hour', lordHowe, '10-02T12:00', '10-02T15:30'],
    ['one that a clock change skips, a week before', skipped, '03-22T12:00', '04-04T00:00'],
    ['one that a clock change skips, on its day', skipped, '03-28T00:30', '04-04T00:00'],
  ])('%s', (_name, parts, now, opening) => {
    const found = nextOpening(hours(parts), Date.parse(`2027-${now}Z`));
    expect(new Date(found).toISOString()).toBe(`2027-${opening}:00.000Z`);
  });

  it('comes within eight days, or in the week after a clock change, and is within the hours', () => {
    const minute = fc.integer({ min: 0, max: 1439 });
    const anyHours = fc.record({
      days: fc.subarray([...WEEK_DAYS], { minLength: 1 }),
      from: minute,
      length: fc.integer({ min: 1, max: 1439 }),
      timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'),
    });
    const text = (minutes: number) =>
      `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
    fc.assert(
      fc.property(anyHours, fc.nat(3 * 365 * 1440), ({ from, length, ...rest }, minutes) => {
        const given = { ...rest, from: text(from), to: text((from + length) % 1440) };
        const now = Date.UTC(2026, 0, 1) + minutes * 60_000;
        const opening = nextOpening(given, now);
        expect(opening).toBeGreaterThanOrEqual(now);
        const weeks = length < 180 ? 2 : 1;
        expect(opening - now).toBeLessThanOrEqual((weeks * 7 + 1) * 86_400_000);
        expect(nextOpening(given, opening)).toBe(opening);
        if (opening > now) expect(nextOpening(given, opening - 60_000)).toBe(opening);
      }),
      { numRuns: Math.min(PROPERTY_RUNS, 500) },
    );
  });
});

it('a time zone is one of the IANA database', () => {
  expect(['Europe/Berlin', 'UTC', 'America/Argentina/Ushuaia'].every(isTimeZone)).toBe(true);
  expect(['Berlin', '', 'Europe/Nowhere'].some(isTimeZone)).toBe(false);
});
