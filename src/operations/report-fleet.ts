// What an orchestrator reports about devices that never call: recorded before the answer leaves, and known to
// every node's next decision.

import { isFailure, type Outcome } from '../contract/failure.ts';
import { foldArch, foldPlatform } from '../domain/artifact.ts';
import { type CheckIn, coalesceCheckIns } from '../domain/check-in.ts';
import type { Labels } from '../domain/targeting.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { Caller } from './authenticate-key.ts';
import type { DeviceLabels } from './device-labels.ts';
import type { LiveFeed } from './live-feed.ts';

export type ReportedDevice = {
  readonly deviceId: string;
  /** Canonical. */
  readonly version: string;
  readonly platform: string;
  readonly arch?: string | undefined;
  readonly channel: string;
  readonly labels?: Labels | undefined;
};

export type FleetReport = { readonly app: string; readonly devices: readonly ReportedDevice[] };

export type ReportFleetDependencies = {
  readonly ledger: Ledger;
  readonly labels: DeviceLabels;
  readonly live: LiveFeed;
};

/** 404 unknown app. Of a device named twice the last is the state, the labels are merged in order. */
export async function reportFleet(
  { ledger, labels, live }: ReportFleetDependencies,
  caller: Caller,
  report: FleetReport,
  nowMs: number,
): Promise<Outcome<{ app: string; received: number }>> {
  const app = await ledger.findApp(caller.organizationId, report.app);
  if (isFailure(app)) return app;
  const checkIns = report.devices.map((device) => describe(app.id, device, nowMs));
  const distinct = coalesceCheckIns(checkIns);
  const recorded = await ledger.recordCheckIns(distinct);
  await labels.remember(recorded);
  for (const checkIn of distinct) live.note(checkIn);
  return { app: app.ref, received: report.devices.length };
}

function describe(appId: string, device: ReportedDevice, at: number): CheckIn {
  return {
    appId,
    deviceId: device.deviceId,
    channel: device.channel,
    version: device.version,
    platform: foldPlatform(device.platform),
    arch: foldArch(device.arch),
    source: 'push',
    at,
    labels: device.labels,
    offeredReleaseId: undefined,
  };
}
