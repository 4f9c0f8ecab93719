// What a device reports, applied to its actions: its version, its attributes, the end of an action, the
// answer to a cancellation. Each function returns the same object when nothing changes.

import {
  type ActionRelease,
  type ActionResult,
  BARS_MAX,
  type Bar,
  type DeviceActions,
  type EndedAction,
  isSameRelease,
  lastId,
  openId,
  type ToldByAttributes,
} from './device-actions.ts';

/**
 * Notes the version that a device, or a fleet report of it, tells. The action for that version ends as a
 * success, whatever was reported, and bars after successes end whose version it no longer is.
 */
export function tellVersion(device: DeviceActions, version: string, now: number): DeviceActions {
  if (device.hasTold && device.version === version) return device;
  return settleVersion({ ...raised(device), version, hasTold: true }, now);
}

/** Notes a PUT of attributes, and the version among them. */
export function tellAttributes(
  device: DeviceActions,
  told: ToldByAttributes,
  now: number,
): DeviceActions {
  const { version } = told;
  const noted = { ...raised(device), told: { ...device.told, ...told }, putAt: now };
  if (version === undefined) return noted;
  return settleVersion({ ...noted, version, hasTold: true }, now);
}

/** Notes that the device has fetched an action, which it may install from then on. */
export function noteFetched(device: DeviceActions, id: number, now: number): DeviceActions {
  const { action } = device;
  if (action?.state !== 'open' || openId(device) !== id) return device;
  return { ...raised(device), action: { ...action, state: 'fetched', since: now } };
}

/**
 * Closes an action. The first closing counts, also one of an action that is being withdrawn, or was withdrawn
 * last and has no successor. A success tells the release's version where the device never told one.
 */
export function closeAction(
  device: DeviceActions,
  id: number,
  result: ActionResult,
  now: number,
): DeviceActions {
  const { action, last } = device;
  if (action !== undefined) {
    return openId(device) === id
      ? close(endAction(device, result, now), action, result, now)
      : device;
  }
  if (last?.state !== 'withdrawn' || lastId(device) !== id) return device;
  const changed = { ...raised(device), last: { ...last, state: result, since: now } };
  return close(changed, last, result, now);
}

/** Ends an action that the device has answered the cancellation of; it bars nothing. */
export function endCancelled(device: DeviceActions, id: number, now: number): DeviceActions {
  if (device.action?.state !== 'withdrawing' || openId(device) !== id) return device;
  return endAction(device, 'withdrawn', now);
}

/** Ends the bars from a release. */
export function liftBar(device: DeviceActions, number: number): DeviceActions {
  if (!device.bars.some((bar) => bar.number === number)) return device;
  return { ...raised(device), bars: device.bars.filter((bar) => bar.number !== number) };
}

/** Ends the device's open action, which must be there. */
export function endAction(
  device: DeviceActions,
  state: EndedAction['state'],
  now: number,
): DeviceActions {
  const { action, ended } = device;
  if (action === undefined) throw new Error('no action to end');
  const last = { number: action.number, version: action.version, state, since: now };
  return { ...raised(device), action: undefined, ended: ended + 1, last };
}

/** Bars the device from a release after its closing. */
function close(
  device: DeviceActions,
  release: ActionRelease,
  result: ActionResult,
  now: number,
): DeviceActions {
  const barred = bar(device, release, result, now);
  if (result === 'failed' || device.hasTold) return barred;
  return settleVersion({ ...barred, version: release.version }, now);
}

function bar(
  device: DeviceActions,
  release: ActionRelease,
  result: ActionResult,
  at: number,
): DeviceActions {
  const { number, version } = release;
  const before = device.bars.find((each) => isSameRelease(each, release));
  const tries = result === 'failed' ? (before?.tries ?? 0) + 1 : 0;
  const isConfirmed = version === device.version;
  const added: Bar = { number, version, result, at, tries, isConfirmed };
  const others = device.bars.filter((each) => each !== before);
  return { ...device, bars: [...others, added].slice(-BARS_MAX) };
}

/** Lets the version on record end what it ends: the action for it, and bars after successes of others. */
function settleVersion(device: DeviceActions, now: number): DeviceActions {
  const { action, version } = device;
  const bars = device.bars
    .filter(
      (each) => !(each.result === 'succeeded' && each.isConfirmed && each.version !== version),
    )
    .map((each) => (each.version === version ? { ...each, isConfirmed: true } : each));
  const settled = { ...device, bars };
  if (action === undefined || action.version !== version) return settled;
  return bar(
    { ...endAction(settled, 'succeeded', now), revision: device.revision },
    action,
    'succeeded',
    now,
  );
}

function raised(device: DeviceActions): DeviceActions {
  return { ...device, revision: device.revision + 1 };
}
