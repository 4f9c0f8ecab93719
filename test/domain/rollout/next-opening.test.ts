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
  it.each<[string, Partial<RaiseHours>, string, string]>([
    ['is the moment itself within the hours', {}, '2027-01-04T12:00:00Z', '2027-01-04T12:00:00Z'],
    ['from is within the hours', {}, '2027-01-04T08:00:00Z', '2027-01-04T08:00:00Z'],
    ['to is not', {}, '2027-01-04T16:00:00Z', '2027-01-05T08:00:00Z'],
    [
      'a day that is not named is passed over',
      { days: ['wed'] },
      '2027-01-04T12:00:00Z',
      '2027-01-06T08:00:00Z',
    ],
    [
      'a week later where only today is named',
      { days: ['mon'] },
      '2027-01-04T16:00:00Z',
      '2027-01-11T08:00:00Z',
    ],
    [
      'hours over midnight go on until the next day',
      { days: ['mon'], from: '22:00', to: '06:00' },
      '2027-01-05T04:00:00Z',
      '2027-01-05T04:00:00Z',
    ],
    [
      'hours over midnight end there',
      { days: ['mon'], from: '22:00', to: '06:00' },
      '2027-01-05T05:00:00Z',
      '2027-01-11T21:00:00Z',
    ],
    [
      'an opening that the clock leaves out is the first moment after the gap',
      { from: '02:30', to: '05:00' },
      '2027-03-28T00:00:00Z',
      '2027-03-28T01:00:00Z',
    ],
    [
      'of an opening that comes twice the first counts',
      { from: '02:30', to: '05:00' },
      '2027-10-31T00:00:00Z',
      '2027-10-31T00:30:00Z',
    ],
    [
      'a zone with half an hour',
      { timeZone: 'Asia/Kolkata' },
      '2027-01-04T00:00:00Z',
      '2027-01-04T03:30:00Z',
    ],
    [
      'a zone that is a day ahead',
      { timeZone: 'Pacific/Kiritimati', days: ['tue'] },
      '2027-01-04T10:00:00Z',
      '2027-01-04T19:00:00Z',
    ],
    [
      'a gap of half an hour',
      { timeZone: 'Australia/Lord_Howe', from: '02:15', to: '04:00' },
      '2027-10-02T12:00:00Z',
      '2027-10-02T15:30:00Z',
    ],
    [
      'an opening that a clock change skips, a week before it',
      { days: ['sun'], from: '02:00', to: '03:00' },
      '2027-03-22T12:00:00Z',
      '2027-04-04T00:00:00Z',
    ],
    [
      'an opening that a clock change skips, on its day',
      { days: ['sun'], from: '02:00', to: '03:00' },
      '2027-03-28T00:30:00Z',
      '2027-04-04T00:00:00Z',
    ],
  ])('%s', (_name, parts, now, opening) => {
    expect(new Date(nextOpening(hours(parts), Date.parse(now))).toISOString()).toBe(
      new Date(opening).toISOString(),
    );
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
