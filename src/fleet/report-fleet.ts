// Fleet reports: the state of devices that never ask themselves, reported by an orchestrator. It is recorded
// before the answer leaves, and every node's next decision knows it.

import type { Caller } from '../access/api-keys.ts';
import { isFailure, type LostRight, type Outcome } from '../contract/failure.ts';
import { foldPlatform } from '../domain/decision/artifact.ts';
import { foldArch } from '../domain/decision/fold-arch.ts';
import type { Labels } from '../domain/decision/targeting.ts';
import { type CheckIn, coalesceCheckIns } from '../domain/fleet/check-in.ts';
import type { Ledger } from '../store/ledger.ts';
import type { ReportedFailure } from '../store/plan-ledger.ts';
import type { DeviceLabels } from './device-labels.ts';
import type { ActivityBroadcast } from './live-activity.ts';

type ReportedDevice = {
  readonly deviceId: string;
  /** Version in canonical form. */
  readonly version: string;
  readonly platform: string;
  readonly arch?: string | undefined;
  readonly channel: string;
  readonly labels?: Labels | undefined;
  /** What it could not install. */
  readonly failed?: { readonly version: string; readonly reason?: string | undefined } | undefined;
};

export type FleetReport = { readonly app: string; readonly devices: readonly ReportedDevice[] };

export type ReportFleetDependencies = {
  readonly ledger: Pick<Ledger, 'findApp' | 'recordReport' | 'recordReportedFailures'>;
  readonly labels: DeviceLabels;
  readonly live: ActivityBroadcast;
};

/** Records a report. A device named twice is in its last state, with the labels merged in order. */
export async function reportFleet(
  { ledger, labels, live }: ReportFleetDependencies,
  caller: Caller,
  report: FleetReport,
  nowMs: number,
): Promise<Outcome<{ app: string; received: number }, LostRight>> {
  const app = await ledger.findApp(caller.reach, report.app);
  if (isFailure(app)) return app;
  const checkIns = report.devices.map((device) => describe(app.id, device, nowMs));
  const distinct = coalesceCheckIns(checkIns);
  const recorded = await ledger.recordReport(distinct, caller.actor);
  if (isFailure(recorded)) return recorded;
  const failures = report.devices.flatMap((device) => failureOf(app.id, device));
  const refused =
    failures.length === 0 ? undefined : await ledger.recordReportedFailures(failures, caller.actor);
  if (refused !== undefined) return refused;
  await labels.remember(recorded, distinct, 'awaited');
  for (const checkIn of distinct) live.note(checkIn);
  return { app: app.ref, received: report.devices.length };
}

function failureOf(
  appId: string,
  { failed, deviceId, channel, version }: ReportedDevice,
): readonly ReportedFailure[] {
  if (failed === undefined) return [];
  const { version: canonicalVersion, reason } = failed;
  const network = undefined;
  return [{ appId, channel, deviceId, runs: version, canonicalVersion, reason, network }];
}

function describe(appId: string, device: ReportedDevice, at: number): CheckIn {
  const platform = foldPlatform(device.platform);
  return {
    appId,
    deviceId: device.deviceId,
    channel: device.channel,
    version: device.version,
    platform,
    arch: foldArch(device.arch, platform),
    source: 'push',
    client: 'push',
    at,
    labels: device.labels,
    offeredReleaseId: undefined,
  };
}
