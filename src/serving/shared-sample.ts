// Sample of devices that calls which follow each other share: whoever tries several changes of a channel has
// the devices read once.

import type { DeviceSample, SampleScope } from '../store/fleet-ledger.ts';
import type { Ledger } from '../store/ledger.ts';

/** Time for which a sample is used. */
const SHARED_MS = 10_000;

export class SharedSample {
  private readonly ledger: Pick<Ledger, 'sampleDevices'>;
  /** The last sample; one at a time is kept, because one may have some megabytes. */
  private last: { readonly key: string; readonly sample: DeviceSample } | undefined;

  constructor(ledger: Pick<Ledger, 'sampleDevices'>) {
    this.ledger = ledger;
  }

  /** Returns a sample of the scope that is at most ten seconds old. */
  async read(scope: SampleScope): Promise<DeviceSample> {
    const key = JSON.stringify([scope.appId, scope.channels, scope.labelKeys]);
    if (this.last?.key === key) return this.last.sample;
    const kept = { key, sample: await this.ledger.sampleDevices(scope) };
    this.last = kept;
    setTimeout(() => {
      if (this.last === kept) this.last = undefined;
    }, SHARED_MS).unref();
    return kept.sample;
  }
}
