// Virtual clock of a played fleet: it runs a number of times as fast as the real one. Times are milliseconds
// since the run began, on both.

export class FleetClock {
  readonly speed: number;

  /** `speed` is how many virtual seconds pass in a real one. */
  constructor(speed: number) {
    if (!(speed > 0)) throw new Error(`a clock cannot run at ${speed} times real time`);
    this.speed = speed;
  }

  /** Returns the virtual time at a real one. */
  virtualAt(realMs: number): number {
    return realMs * this.speed;
  }

  /** Returns the real time at a virtual one. */
  realAt(virtualMs: number): number {
    return virtualMs / this.speed;
  }
}
