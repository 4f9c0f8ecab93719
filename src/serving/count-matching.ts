// Number of devices of a channel that a targeting is meant for, while somebody writes it. Of a large fleet it
// is an estimate from a sample.

import type { MatchingDevices } from '../contract/console.ts';
import { LIMIT } from '../contract/limit.ts';
import type { Targeting } from '../contract/resource.ts';
import { compileTargeting } from '../domain/decision/targeting.ts';
import { TimeSlice } from '../flow/time-slice.ts';
import type { Ledger } from '../store/ledger.ts';
import { recordedQuestion } from './recorded-question.ts';
import { SharedSample } from './shared-sample.ts';

/** Number of devices after which the clock is read, which would take as long as a few of them. */
const CLOCK_EVERY = 256;

export class CountMatching {
  private readonly sample: SharedSample;

  constructor(ledger: Pick<Ledger, 'sampleDevices'>) {
    this.sample = new SharedSample(ledger);
  }

  /** Counts the devices seen in the last 30 days that meet every condition, as their next check would. */
  async count(appId: string, channel: string, targets: Targeting | null): Promise<MatchingDevices> {
    const { fieldTests, labelTests, labelKeys } = compileTargeting(targets);
    const scope = { appId, channels: [channel], labelKeys: [...labelKeys].sort() };
    const { devices, total, isWhole } = await this.sample.read(scope);
    const slice = new TimeSlice();
    const examples: string[] = [];
    let matching = 0;
    for (const [index, device] of devices.entries()) {
      if (index % CLOCK_EVERY === 0 && slice.isOver) await slice.pause();
      const { fields } = recordedQuestion(device);
      if (!fieldTests.every((test) => test(fields))) continue;
      if (!labelTests.every((test) => test(device.labels))) continue;
      matching += 1;
      if (examples.length < LIMIT.matchingExamplesMax) examples.push(device.deviceId);
    }
    const share = devices.length === 0 ? 0 : matching / devices.length;
    return {
      devices: total,
      matching: isWhole ? matching : Math.round(share * total),
      isEstimate: !isWhole,
      examples,
    };
  }
}
