// Day of a device: it sleeps at night, when its owner does. A run is much shorter than a day, so a day may be
// pressed into any length; the hours keep their shares of it.

const HOURS = 24;
const ASLEEP_FROM = 22;
const ASLEEP_HOURS = 9;
/** Share of the devices that are switched off at night; the others, servers and kiosks, never are. */
const SLEEPER_SHARE = 0.6;
/** Hours by which the night of a device is earlier or later than that of the fleet, at most. */
const SPREAD_HOURS = 1.5;

export class DeviceDay {
  private readonly lengthMs: number;
  private readonly noonMs: number;

  /**
   * Makes a day of this length in virtual milliseconds, with its noon at this virtual time. Nobody sleeps
   * before that noon: a pressed night would make devices ask for the first time together when it ends.
   */
  constructor(lengthMs: number, noonMs: number) {
    this.lengthMs = lengthMs;
    this.noonMs = noonMs;
  }

  /**
   * Returns by how many hours the night of a device is shifted; NaN for a device that never sleeps. Every
   * call draws from `random` for another device.
   */
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

  /** Hour of the fleet's day at a virtual time, 0 to 24. */
  hourOf(atMs: number): number {
    const hours = HOURS / 2 + ((atMs - this.noonMs) / this.lengthMs) * HOURS;
    return hours - Math.floor(hours / HOURS) * HOURS;
  }
}
