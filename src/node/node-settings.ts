// Settings that change while a node runs. The process that an operator signals reads them, and every other
// process gets them from it, also one that starts later: so all use the same ones, whatever lies in the
// files.

import type { Settings } from './calls-to-process.ts';
import type { KeptProcess } from './supervised-process.ts';

/** Longest wait for a process to use what it was told. */
const SETTINGS_MS_MAX = 5000;

export class NodeSettings {
  private readonly processes: Pick<KeptProcess, 'tell'>[] = [];
  private held: Settings;

  constructor(settings: unknown) {
    this.held = { settings };
  }

  /** Settings that every process of the node uses now. */
  get present(): Settings {
    return this.held;
  }

  /** Adds processes that are told of changes. */
  include(...processes: readonly Pick<KeptProcess, 'tell'>[]): void {
    this.processes.push(...processes);
  }

  /** Replaces the settings; resolves when every process uses them, or after a limit of time. */
  async replace(settings: unknown): Promise<void> {
    const held = { settings };
    this.held = held;
    await Promise.all(this.processes.map((each) => each.tell(held, SETTINGS_MS_MAX)));
  }
}
