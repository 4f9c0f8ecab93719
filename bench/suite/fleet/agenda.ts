// Agenda of a played fleet: which device asks at which time. A slot for every few milliseconds of the whole
// run makes planning and taking cost the same whatever the number of devices.

/** Length of a slot: devices of one slot ask together. */
const SLOT_MS = 5;

export class Agenda {
  /** Devices by the slot of their time. */
  private readonly slots: number[][];
  /** Slot from which the next devices are taken. */
  private next = 0;

  /** Makes the agenda of a run of this length. */
  constructor(lengthMs: number) {
    this.slots = Array.from({ length: Math.ceil(lengthMs / SLOT_MS) }, () => []);
  }

  /**
   * Plans a device for a time. One that has passed becomes the next that is taken; a device that would ask
   * after the end of the run is left out of it.
   */
  plan(device: number, atMs: number): void {
    this.slots[Math.max(this.next, Math.floor(atMs / SLOT_MS))]?.push(device);
  }

  /** Takes the devices that are due by this time, with the time that each was due at. */
  *take(nowMs: number): Generator<{ readonly device: number; readonly dueMs: number }> {
    const due = Math.min(this.slots.length, Math.floor(nowMs / SLOT_MS));
    while (this.next < due) {
      const dueMs = this.next * SLOT_MS;
      const devices = this.slots[this.next] ?? [];
      this.slots[this.next] = [];
      this.next += 1;
      for (const device of devices) yield { device, dueMs };
    }
  }
}
