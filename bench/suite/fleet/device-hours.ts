// Hours of a device: it sleeps at night, when its owner does, and in an office at weekends as well. A run may
// be much shorter than a day, so a day may be pressed into any length; the hours keep their shares of it.

const HOURS = 24;
const ASLEEP_FROM = 22;
const ASLEEP_HOURS = 9;
/** Share of the devices that are switched off at night; the others, servers and kiosks, never are. */
const SLEEPER_SHARE = 0.6;
/** Hours by which the night of a device is earlier or later than that of the fleet, at most. */
const SPREAD_HOURS = 1.5;

const HOUR_MS = 3_600_000;
const DAY_MS = HOURS * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** Share of the devices that are switched off at night which are so at weekends. */
const OFFICE_SHARE = 0.3;
/** From Friday 18:00 to Monday 7:00, when the night ends as well; hours since Monday 0:00. */
const WEEKEND_FROM_MS = (4 * 24 + 18) * HOUR_MS;
const WEEKEND_TO_MS = (7 * 24 + 7) * HOUR_MS;
/** Noon of a Monday long before anything that is simulated. */
const NOON_MS = -4 * WEEK_MS + 12 * HOUR_MS;

export class DeviceDay {
  private readonly lengthMs: number;
  private readonly noonMs: number;

  /** Makes a day of this virtual length. Before its noon nobody sleeps, so that all ask at first. */
  constructor(lengthMs: number, noonMs: number) {
    this.lengthMs = lengthMs;
    this.noonMs = noonMs;
  }

  /** Draws by how many hours the night of a device is shifted; NaN for one that never sleeps. */
  drawShift(random: () => number): number {
    if (random() >= SLEEPER_SHARE) return Number.NaN;
    // The sum of two draws: most of the fleet lives near the middle of its zone.
    return (random() + random() - 1) * SPREAD_HOURS;
  }

  /** Returns the time itself when a device with this shift is awake then, else the end of its night. */
  nextAwake(atMs: number, shiftHours: number): number {
    if (Number.isNaN(shiftHours) || atMs < this.noonMs) return atMs;
    const sinceDusk = this.hourOf(atMs) - shiftHours - ASLEEP_FROM;
    const inNight = sinceDusk - Math.floor(sinceDusk / HOURS) * HOURS;
    if (inNight >= ASLEEP_HOURS) return atMs;
    return atMs + ((ASLEEP_HOURS - inNight) / HOURS) * this.lengthMs;
  }

  hourOf(atMs: number): number {
    const hours = HOURS / 2 + ((atMs - this.noonMs) / this.lengthMs) * HOURS;
    return hours - Math.floor(hours / HOURS) * HOURS;
  }
}

export class DeviceWeek {
  private readonly day = new DeviceDay(DAY_MS, NOON_MS);

  /** Draws the hours of another device: the shift of its nights, and whether it is in an office. */
  draw(random: () => number): { readonly shiftHours: number; readonly isOffice: boolean } {
    const shiftHours = this.day.drawShift(random);
    return { shiftHours, isOffice: !Number.isNaN(shiftHours) && random() < OFFICE_SHARE };
  }

  /** The time, in milliseconds since a Monday 0:00, or when the device is switched on next. */
  nextOn(atMs: number, shiftHours: number, isOffice: boolean): number {
    const on = this.day.nextAwake(atMs, shiftHours);
    if (!isOffice) return on;
    const local = on - shiftHours * HOUR_MS;
    const inWeek = local - Math.floor(local / WEEK_MS) * WEEK_MS;
    return inWeek < WEEKEND_FROM_MS ? on : on + WEEKEND_TO_MS - inWeek;
  }
}
