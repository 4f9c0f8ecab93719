// Actions of a device as text, in both stores: a JSON list, because a fleet of a million devices has a
// million of them in the memory of Redis. Times are milliseconds since 1970, 0 for none.

import { parseJson } from './check-in-payload.ts';
import type {
  ActionResult,
  Bar,
  DeviceActions,
  EndedAction,
  OpenAction,
} from './device-actions.ts';

/** Number of the form, which a text begins with; a text of another form is not read. */
const FORM = 1;

const OPEN_STATES = ['open', 'fetched', 'withdrawing'] as const;
const END_STATES = ['succeeded', 'failed', 'withdrawn'] as const;

type Flag = 0 | 1;
type PackedTold = readonly [platform: string, arch: string, bundle: string, version: string];
type PackedOpen = readonly [
  ...release: [number: number, version: string],
  ...since: [state: number, since: number],
  ...opened: [channelId: string, epoch: number, revision: number],
];
type PackedEnd = readonly [number: number, version: string, state: number, since: number];
type PackedBar = readonly [...end: PackedEnd, tries: number, isConfirmed: Flag];
type Packed = readonly [
  ...head: [form: typeof FORM, revision: number, ended: number],
  ...known: [putAt: number, version: string, hasTold: Flag, told: PackedTold | 0],
  ...actions: [open: PackedOpen | 0, last: PackedEnd | 0, bars: readonly PackedBar[]],
];

export function packActions(device: DeviceActions): string {
  const { revision, ended, putAt, version, hasTold, told, action, last, bars } = device;
  const { platform = '', arch = '', bundle = '', version: toldVersion = '' } = told;
  const attributes: PackedTold = [platform, arch, bundle, toldVersion];
  const packed: Packed = [
    ...([FORM, revision, ended, putAt ?? 0, version ?? '', hasTold ? 1 : 0] as const),
    attributes.every((each) => each === '') ? 0 : attributes,
    action === undefined ? 0 : packOpen(action),
    last === undefined
      ? 0
      : [last.number, last.version, END_STATES.indexOf(last.state), last.since],
    bars.map(packBar),
  ];
  return JSON.stringify(packed);
}

function packOpen({ number, version, state, since, channelId, order }: OpenAction): PackedOpen {
  const { epoch, revision } = order;
  return [number, version, OPEN_STATES.indexOf(state), since, channelId, epoch, revision];
}

function packBar({ number, version, result, at, tries, isConfirmed }: Bar): PackedBar {
  return [number, version, END_STATES.indexOf(result), at, tries, isConfirmed ? 1 : 0];
}

/** Returns the actions of a text; undefined when it is none of this form. */
export function parseActions(text: string): DeviceActions | undefined {
  const packed = parseJson(text);
  if (!isPacked(packed)) return undefined;
  const [, revision, ended, putAt, version, hasTold, told, action, last, bars] = packed;
  return {
    ...{ revision, ended, hasTold: hasTold === 1, bars: bars.map(barOf) },
    told: told === 0 ? {} : toldOf(told),
    putAt: putAt || undefined,
    version: version || undefined,
    action: action === 0 ? undefined : openOf(action),
    last: last === 0 ? undefined : endedOf(last),
  };
}

/** Whether a value was written by `packActions`, which alone writes such lists. */
function isPacked(value: unknown): value is Packed {
  return Array.isArray(value) && value[0] === FORM && Array.isArray(value.at(-1));
}

function toldOf([platform, arch, bundle, version]: PackedTold): DeviceActions['told'] {
  return {
    ...(platform && { platform }),
    ...(arch && { arch }),
    ...(bundle && { bundle }),
    ...(version && { version }),
  };
}

function openOf(packed: PackedOpen): OpenAction {
  const [number, version, state, since, channelId, epoch, revision] = packed;
  const order = { epoch, revision };
  return { number, version, state: OPEN_STATES[state] ?? 'open', since, channelId, order };
}

function endedOf([number, version, state, since]: PackedEnd): EndedAction {
  return { number, version, state: END_STATES[state] ?? 'withdrawn', since };
}

function barOf([number, version, result, at, tries, isConfirmed]: PackedBar): Bar {
  const state: ActionResult = END_STATES[result] === 'failed' ? 'failed' : 'succeeded';
  return { number, version, result: state, at, tries, isConfirmed: isConfirmed === 1 };
}
