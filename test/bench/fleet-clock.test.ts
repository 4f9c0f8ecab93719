// Tests the time of a played fleet: its clock, and the agenda that says who asks when.

import { describe, expect, it } from 'vitest';
import { Agenda } from '../../bench/suite/fleet/agenda.ts';
import { FleetClock } from '../../bench/suite/fleet/fleet-clock.ts';

describe('the clock of a fleet', () => {
  it('runs as many times as fast as the real one, and back', () => {
    const clock = new FleetClock(30);
    expect(clock.virtualAt(10_000)).toBe(300_000);
    expect(clock.realAt(clock.virtualAt(1234))).toBe(1234);
  });

  it('does not stand still', () => {
    expect(() => new FleetClock(0)).toThrow('0 times real time');
  });
});

describe('the agenda of a fleet', () => {
  const taken = (agenda: Agenda, nowMs: number) => [...agenda.take(nowMs)];

  it('has each device once, when its time has come', () => {
    const agenda = new Agenda(1000);
    agenda.plan(7, 500);
    agenda.plan(8, 20);
    expect(taken(agenda, 100)).toEqual([{ device: 8, dueMs: 20 }]);
    expect(taken(agenda, 499)).toEqual([]);
    expect(taken(agenda, 600)).toEqual([{ device: 7, dueMs: 500 }]);
    expect(taken(agenda, 1000)).toEqual([]);
  });

  it('takes late what was planned for a time that has passed', () => {
    const agenda = new Agenda(1000);
    taken(agenda, 500);
    agenda.plan(3, 100);
    expect(taken(agenda, 505)).toEqual([{ device: 3, dueMs: 500 }]);
  });

  it('leaves out who would ask after the run', () => {
    const agenda = new Agenda(1000);
    agenda.plan(1, 1000);
    agenda.plan(2, Number.POSITIVE_INFINITY);
    expect(taken(agenda, 5000)).toEqual([]);
  });
});
