// Notes of labels in memory, for tests of what uses them; calls can be made to fail.

import type { Labels } from '../../src/domain/decision/targeting.ts';
import { deviceKey } from '../../src/domain/fleet/check-in.ts';
import type { DeviceName } from '../../src/ports/label-cache.ts';
import type { LabelNote, LabelNoteStore, SettledLabels } from '../../src/ports/label-notes.ts';

export class FakeLabelNotes implements LabelNoteStore {
  fault: Error | undefined;
  private readonly byDevice = new Map<string, Map<string, { value: string; at: number }>>();

  async noteLabels(notes: readonly LabelNote[]): Promise<void> {
    this.assertThere();
    for (const note of notes) {
      const of = this.byDevice.get(deviceKey(note)) ?? new Map();
      for (const [key, value] of note.labels) of.set(key, { value, at: note.at });
      this.byDevice.set(deviceKey(note), of);
    }
  }

  async readLabelNotes(devices: readonly DeviceName[]): Promise<readonly (Labels | undefined)[]> {
    this.assertThere();
    return devices.map((device) => {
      const noted = this.byDevice.get(deviceKey(device));
      return noted && new Map([...noted].map(([key, { value }]) => [key, value]));
    });
  }

  async settleLabelNotes(settled: readonly SettledLabels[]): Promise<void> {
    this.assertThere();
    for (const each of settled) {
      const noted = this.byDevice.get(deviceKey(each));
      for (const key of each.labelKeys) {
        if ((noted?.get(key)?.at ?? Number.NaN) <= each.until) noted?.delete(key);
      }
    }
  }

  async dropLabelNotes(devices: readonly DeviceName[]): Promise<void> {
    this.assertThere();
    for (const device of devices) this.byDevice.delete(deviceKey(device));
  }

  private assertThere(): void {
    if (this.fault !== undefined) throw this.fault;
  }
}
