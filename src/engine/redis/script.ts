// The Lua scripts, read from `script/` beside this file; the build copies them into dist/.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Text of a script and the hash under which Redis caches it. */
export type Script = { readonly lua: string; readonly sha1: string };

export const SCRIPTS = {
  putSnapshot: load('put-snapshot'),
  putChannelNames: load('put-channel-names'),
  announce: load('announce'),
  countRequest: load('count-request'),
  forgetRequests: load('forget-requests'),
  settleDevices: load('settle-devices'),
  getLabels: load('get-labels'),
  putLabels: load('put-labels'),
  dropLabels: load('drop-labels'),
  noteLabels: load('note-labels'),
  readLabelNotes: load('read-label-notes'),
  settleLabelNotes: load('settle-label-notes'),
  readLabelPosition: load('read-label-position'),
  moveLabelPosition: load('move-label-position'),
  appendCheckIns: load('append-check-ins'),
  takeCheckIns: load('take-check-ins'),
  shareCheckIns: load('share-check-ins'),
  leaveCheckIns: load('leave-check-ins'),
  acknowledgeCheckIns: load('acknowledge-check-ins'),
  measureCheckIns: load('measure-check-ins'),
} as const;

function load(name: string): Script {
  const lua = readFileSync(new URL(`./script/${name}.lua`, import.meta.url), 'utf8');
  return { lua, sha1: createHash('sha1').update(lua).digest('hex') };
}
