// Week of a device: many are switched off at night, and some of those, in offices, at weekends as well.

import { DeviceDay } from '../fleet/device-day.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** Share of the devices that are switched off at night which are so at weekends. */
const OFFICE_SHARE = 0.3;
/** From Friday 18:00 to Monday 7:00, when the night ends as well; hours since Monday 0:00. */
const WEEKEND_FROM_MS = (4 * 24 + 18) * HOUR_MS;
const WEEKEND_TO_MS = (7 * 24 + 7) * HOUR_MS;

/** Noon of a Monday long before anything that is simulated: `DeviceDay` has no nights before its noon. */
const NOON_MS = -4 * WEEK_MS + 12 * HOUR_MS;

export type DeviceHours = {
  /** Hours by which the nights are shifted; NaN for a device that is never off. */
  readonly shiftHours: number;
  readonly isOffice: boolean;
};

export class DeviceWeek {
  private readonly day = new DeviceDay(DAY_MS, NOON_MS);

  /** Draws the hours of another device. */
  draw(random: () => number): DeviceHours {
    const shiftHours = this.day.drawShift(random);
    return { shiftHours, isOffice: !Number.isNaN(shiftHours) && random() < OFFICE_SHARE };
  }

  /**
   * Returns the time itself, in milliseconds since a Monday 0:00, when a device is on then, else the time at
   * which it is switched on next.
   */
  nextOn(atMs: number, shiftHours: number, isOffice: boolean): number {
    const on = this.day.nextAwake(atMs, shiftHours);
    if (!isOffice) return on;
    const local = on - shiftHours * HOUR_MS;
    const inWeek = local - Math.floor(local / WEEK_MS) * WEEK_MS;
    return inWeek < WEEKEND_FROM_MS ? on : on + WEEKEND_TO_MS - inWeek;
  }
}
