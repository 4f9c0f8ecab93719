// Actions of a device as text, in both stores. The text is short, because a fleet of a million devices has a
// million of them in the memory of Redis:
//
//   1 <revision> <ended> <put at> <version> <told one> <open action> <last action> <bars>[ <told>]
//
// What is absent is empty. Times are whole milliseconds since 1970, to base 36. Neither versions nor ids have
// spaces, commas or semicolons; what a device told of itself may have any text, and is JSON.

import { parseJson } from './check-in-payload.ts';
import type {
  Bar,
  DeviceActions,
  EndedAction,
  OpenAction,
  ToldByAttributes,
} from './device-actions.ts';

/** Number of the form, which a text begins with; a text of another form is not read. */
const FORM = 1;

const OPEN_STATES = ['open', 'fetched', 'withdrawing'] as const;
const ATTRIBUTES = ['platform', 'arch', 'bundle', 'version'] as const;
const END_STATES = ['succeeded', 'failed', 'withdrawn'] as const;

const TEXT = /^1 (\d+) (\d+) ([\da-z]*) ([^ ]*) ([01]) ([^ ]*) ([^ ]*) ([^ ]*)(?: (\[.*\]))?$/s;
const OPEN = /^(\d+),([^,]*),([012]),([\da-z]+),([^,]*),(\d+),(\d+)$/;
const END = /^(\d+),([^,]*),([012]),([\da-z]+)$/;
const BAR = /^(\d+),([^,]*),([01]),([\da-z]+),(\d+),([01])$/;
/** Stands for a last action that the newest bar tells everything of. */
const AS_BARRED = '=';
const RADIX = 36;
/** Length of the greatest whole number to that base. */
const TIME_LENGTH = 11;
const NOTHING_TOLD: ToldByAttributes = {};

export function packActions(device: DeviceActions): string {
  const { revision, ended, putAt, version = '', hasTold, told, action, bars } = device;
  const known = `${putAt === undefined ? '' : packTime(putAt)} ${version} ${hasTold ? 1 : 0}`;
  const actions = `${action === undefined ? '' : packOpen(action)} ${packLast(device)}`;
  const text = `${FORM} ${revision} ${ended} ${known} ${actions} ${bars.map(packBar).join(';')}`;
  const attributes = ATTRIBUTES.map((name) => told[name] ?? '');
  return attributes.some((each) => each !== '') ? `${text} ${JSON.stringify(attributes)}` : text;
}

function packTime(milliseconds: number): string {
  return Math.trunc(milliseconds).toString(RADIX);
}

/** Returns a time as it is packed, with zeros before it: texts of one length have the order of times. */
export function sortableTime(milliseconds: number): string {
  return packTime(milliseconds).padStart(TIME_LENGTH, '0');
}

function packOpen({ number, version, state, since, channelId, order }: OpenAction): string {
  const { epoch, revision } = order;
  const begun = `${OPEN_STATES.indexOf(state)},${packTime(since)}`;
  return `${number},${version},${begun},${channelId},${epoch},${revision}`;
}

function packLast({ last, bars }: DeviceActions): string {
  if (last === undefined) return '';
  const text = packEnd(last, last.state, last.since);
  const bar = bars.at(-1);
  return bar !== undefined && text === packEnd(bar, bar.result, bar.at) ? AS_BARRED : text;
}

function packEnd(
  { number, version }: EndedAction | Bar,
  state: EndedAction['state'],
  since: number,
): string {
  return `${number},${version},${END_STATES.indexOf(state)},${packTime(since)}`;
}

function packBar(bar: Bar): string {
  return `${packEnd(bar, bar.result, bar.at)},${bar.tries},${bar.isConfirmed ? 1 : 0}`;
}

/** Returns the actions of a text; undefined when it is none of this form. */
export function parseActions(text: string): DeviceActions | undefined {
  const fields = TEXT.exec(text);
  if (fields === null) return undefined;
  const [open, end] = [fields[6] as string, fields[7] as string];
  const bars = parseBars(fields[8] as string);
  const told = parseTold(fields[9]);
  if (bars === undefined || told === undefined) return undefined;
  const action = open === '' ? undefined : parseOpen(open);
  const last = end === AS_BARRED ? endOf(bars.at(-1)) : parseEnd(end);
  if ((open !== '' && action === undefined) || (end !== '' && last === undefined)) return undefined;
  return {
    revision: Number(fields[1]),
    told,
    putAt: fields[3] === '' ? undefined : parseTime(fields[3]),
    version: fields[4] || undefined,
    hasTold: fields[5] === '1',
    ended: Number(fields[2]),
    action,
    last,
    bars,
  };
}

function parseTime(digits: string | undefined): number {
  return Number.parseInt(digits as string, RADIX);
}

function parseTold(json: string | undefined): ToldByAttributes | undefined {
  if (json === undefined) return NOTHING_TOLD;
  const told = parseJson(json);
  if (!Array.isArray(told) || !told.every((each) => typeof each === 'string')) return undefined;
  const attributes: { -readonly [Name in keyof ToldByAttributes]: ToldByAttributes[Name] } = {};
  for (const [index, name] of ATTRIBUTES.entries()) {
    if (told[index]) attributes[name] = told[index];
  }
  return attributes;
}

function parseOpen(text: string): OpenAction | undefined {
  const fields = OPEN.exec(text);
  if (fields === null) return undefined;
  return {
    number: Number(fields[1]),
    version: fields[2] as string,
    state: OPEN_STATES[Number(fields[3])] ?? 'open',
    since: parseTime(fields[4]),
    channelId: fields[5] as string,
    order: { epoch: Number(fields[6]), revision: Number(fields[7]) },
  };
}

function parseEnd(text: string): EndedAction | undefined {
  const fields = text === '' ? null : END.exec(text);
  if (fields === null) return undefined;
  return {
    number: Number(fields[1]),
    version: fields[2] as string,
    state: END_STATES[Number(fields[3])] ?? 'withdrawn',
    since: parseTime(fields[4]),
  };
}

function endOf(bar: Bar | undefined): EndedAction | undefined {
  if (bar === undefined) return undefined;
  return { number: bar.number, version: bar.version, state: bar.result, since: bar.at };
}

function parseBars(text: string): Bar[] | undefined {
  if (text === '') return [];
  const bars: Bar[] = [];
  for (const each of text.split(';')) {
    const fields = BAR.exec(each);
    if (fields === null) return undefined;
    bars.push({
      number: Number(fields[1]),
      version: fields[2] as string,
      result: fields[3] === '0' ? 'succeeded' : 'failed',
      at: parseTime(fields[4]),
      tries: Number(fields[5]),
      isConfirmed: fields[6] === '1',
    });
  }
  return bars;
}
