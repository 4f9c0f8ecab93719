// The Lua scripts, read from `script/` beside this file; the build copies them into dist/.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Type of a value in Redis. */
export type KeyType = 'string' | 'list' | 'hash' | 'zset' | 'stream';

export type Script = {
  readonly lua: string;
  /** Hash of the text, under which Redis caches it. */
  readonly sha1: string;
  /** Type of the values of its keys; undefined when it takes values of any. */
  readonly type: KeyType | undefined;
};

export const SCRIPTS = {
  putSnapshot: load('put-snapshot', 'hash'),
  putChannelNames: load('put-channel-names', 'hash'),
  claimRecord: load('claim-record', 'hash'),
  announce: load('announce'),
  countRequest: load('count-request', 'list'),
  forgetRequests: load('forget-requests'),
  settleDevices: load('settle-devices', 'zset'),
  getLabels: load('get-labels', 'string'),
  putLabels: load('put-labels', 'string'),
  dropLabels: load('drop-labels'),
  noteLabels: load('note-labels', 'hash'),
  readLabelNotes: load('read-label-notes', 'hash'),
  settleLabelNotes: load('settle-label-notes', 'hash'),
  readLabelPosition: load('read-label-position', 'hash'),
  moveLabelPosition: load('move-label-position', 'hash'),
  appendCheckIns: load('append-check-ins', 'stream'),
  takeCheckIns: load('take-check-ins', 'stream'),
  shareCheckIns: load('share-check-ins', 'zset'),
  leaveCheckIns: load('leave-check-ins', 'zset'),
  acknowledgeCheckIns: load('acknowledge-check-ins', 'stream'),
  measureCheckIns: load('measure-check-ins', 'stream'),
  removeWrongTypes: load('remove-wrong-types'),
} as const;

function load(name: string, type?: KeyType): Script {
  const lua = readFileSync(new URL(`./script/${name}.lua`, import.meta.url), 'utf8');
  return { lua, sha1: createHash('sha1').update(lua).digest('hex'), type };
}
