// Endpoints that devices and readers of feeds ask. Their requests are read without a shape, because they come
// by the million; the tests hold what is said here against what is answered.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import { SLICES } from '../../domain/decision/cohort.ts';
import { ANSWER_SHAPES } from '../shape/answer-shape.ts';
import { failureBody } from '../shape/fleet-body.ts';
import { type Answer, jsonAnswer, type Operation, type Parameters } from '../shape/operation.ts';

const text = z.string();
const DEVICE: Parameters = {
  'X-Service-Device': {
    shape: z.string().min(1).max(LIMIT.deviceIdLengthMax).optional(),
    description: 'Id of the device. Without it a device takes part in no staged rollout.',
  },
};
const NAMED: Parameters = {
  device: { shape: text.optional(), description: 'Id, where a client cannot send the header.' },
};
const CHANNEL: Parameters = {
  app: { shape: text, description: 'Ref of the app.' },
  channel: { shape: text, description: 'Name of the channel.' },
};
const MACHINE: Parameters = {
  platform: { shape: text, description: 'For example `linux`, `darwin` or `windows`.' },
  arch: { shape: text, description: 'For example `x86_64` or `aarch64`.' },
};
const VERSION: Parameters = { version: { shape: text, description: 'What the device runs.' } };
const FILE: Parameters = { file: { shape: text, description: 'Name of the file.' } };
const NO_UPDATE: Answer = { description: 'There is no update for this device.' };
const UNCHANGED: Answer = { description: 'The present file is the one of `If-None-Match`.' };
const MOVED: Answer = { description: 'Address of the file.', headers: ['Location'] };
const SHARED = { method: 'get', tag: 'Devices', isGuarded: false } as const;

/** Endpoints of devices. Query parameters `l.<key>` are labels on all that decide. */
export const DEVICE_OPERATIONS: readonly Operation[] = [
  {
    ...{ ...SHARED, path: '/u/{app}/{channel}/{platform}/{arch}/{version}', id: 'checkForUpdate' },
    summary: 'Update check',
    description: 'The query may tell labels as `l.<key>=<value>`.',
    inPath: { ...CHANNEL, ...MACHINE, ...VERSION },
    inQuery: {
      ...NAMED,
      bundle: { shape: text.optional(), description: 'Kind that the app was installed from.' },
    },
    inHeaders: DEVICE,
    answers: { 200: jsonAnswer('The update.', ANSWER_SHAPES.UpdateManifest), 204: NO_UPDATE },
    refusals: [404],
  },
  {
    ...{ ...SHARED, path: '/c/{app}/{channel}/{platform}/{arch}/{version}/{slice}' },
    id: 'checkForUpdateOfSlice',
    summary: 'Update check that a cache can keep the answer of',
    description:
      'Asked for a slice of the fleet, which a client works out from its id (contract 28.3).',
    inPath: {
      ...{ ...CHANNEL, ...MACHINE, ...VERSION },
      slice: {
        shape: z
          .int()
          .min(0)
          .max(SLICES - 1),
        description: 'Slice of the device.',
      },
    },
    inQuery: {
      bundle: { shape: text.optional(), description: 'Kind that the app was installed from.' },
    },
    answers: {
      200: jsonAnswer('The update.', ANSWER_SHAPES.UpdateManifest),
      204: { description: 'There is no update for this slice.' },
      304: UNCHANGED,
    },
    refusals: [404],
  },
  {
    ...{ method: 'post', tag: 'Devices', isGuarded: false, id: 'reportFailure' },
    path: '/u/{app}/{channel}/{platform}/{arch}/{version}/failure',
    summary: 'Tell that a version could not be installed',
    inPath: { ...CHANNEL, ...MACHINE, ...VERSION },
    inQuery: NAMED,
    inHeaders: DEVICE,
    body: failureBody,
    answers: { 204: { description: 'It is recorded, or counts nowhere.' } },
    refusals: [404, 408, 413],
  },
  {
    ...{ ...SHARED, path: '/e/{app}/{channel}/{file}', id: 'readElectronFile' },
    summary: 'Update file of electron-updater: `latest.yml` and its like',
    inPath: { ...CHANNEL, ...FILE },
    inQuery: NAMED,
    inHeaders: DEVICE,
    answers: { 200: typed('The release on offer.', 'text/yaml'), 304: UNCHANGED },
    refusals: [404],
  },
  {
    ...{ ...SHARED, path: '/e/{app}/{channel}/{arch}/{file}', id: 'readElectronFileOfArch' },
    summary: 'Update file of electron-updater for one architecture',
    inPath: { ...CHANNEL, arch: MACHINE.arch, ...FILE } as Parameters,
    inQuery: NAMED,
    inHeaders: DEVICE,
    answers: { 200: typed('The release on offer.', 'text/yaml'), 304: UNCHANGED },
    refusals: [404],
  },
  {
    ...{ ...SHARED, path: '/squirrel/{app}/{channel}/{machine}/{version}', id: 'checkSquirrelMac' },
    summary: 'Update check of Squirrel.Mac',
    inPath: { ...CHANNEL, ...machine(), ...VERSION },
    inQuery: NAMED,
    inHeaders: DEVICE,
    answers: { 200: jsonAnswer('The update.', ANSWER_SHAPES.SquirrelManifest), 204: NO_UPDATE },
    refusals: [404],
  },
  {
    ...{ ...SHARED, path: '/squirrel/{app}/{channel}/{machine}/msix/{version}', id: 'checkMsix' },
    summary: 'Update check of Electron on Windows, installed from MSIX',
    inPath: { ...CHANNEL, ...machine(), ...VERSION },
    inQuery: NAMED,
    inHeaders: DEVICE,
    answers: { 200: jsonAnswer('The update.', ANSWER_SHAPES.SquirrelManifest), 204: NO_UPDATE },
    refusals: [404],
  },
  {
    ...{ ...SHARED, path: '/squirrel/{app}/{channel}/{machine}/{version}/RELEASES' },
    id: 'readSquirrelReleases',
    summary: 'Index of Squirrel.Windows',
    inPath: { ...CHANNEL, ...machine(), ...VERSION },
    inQuery: NAMED,
    inHeaders: DEVICE,
    answers: { 200: typed('`SHA1 URL SIZE`, or nothing.', 'text/plain'), 304: UNCHANGED },
    refusals: [404],
  },
  {
    ...{ ...SHARED, path: '/velopack/{app}/{channel}/{file}', id: 'readVelopackFile' },
    summary: 'Feed of Velopack (`releases.{name}.json`), or a file of a release',
    inPath: { ...CHANNEL, ...FILE },
    inQuery: NAMED,
    inHeaders: DEVICE,
    answers: {
      200: jsonAnswer('The package, or none.', ANSWER_SHAPES.VelopackFeed),
      302: MOVED,
      304: UNCHANGED,
    },
    refusals: [404],
  },
  {
    ...{ ...SHARED, path: '/sparkle/{app}/{channel}/{file}', id: 'readAppcast' },
    summary: 'Appcast of Sparkle and WinSparkle',
    inPath: { ...CHANNEL, ...FILE },
    inQuery: { ...NAMED, arch: { shape: text.optional(), description: 'Architecture.' } },
    inHeaders: DEVICE,
    answers: { 200: typed('RSS with one item, or none.', 'application/xml'), 304: UNCHANGED },
    refusals: [404],
  },
  {
    ...{ ...SHARED, path: '/download/{app}/{channel}', id: 'downloadForAgent' },
    summary: 'Newest file for people, by their browser',
    inPath: CHANNEL,
    inQuery: { format: { shape: text.optional(), description: 'Format of the file.' } },
    answers: { 302: MOVED },
    refusals: [404],
  },
  {
    ...{ ...SHARED, path: '/download/{app}/{channel}/{platform}', id: 'downloadForPlatform' },
    summary: 'Newest file for people, for a platform',
    inPath: { ...CHANNEL, platform: MACHINE.platform } as Parameters,
    inQuery: { format: { shape: text.optional(), description: 'Format of the file.' } },
    answers: { 302: MOVED },
    refusals: [404],
  },
  {
    ...{ ...SHARED, path: '/download/{app}/{channel}/{platform}/{arch}', id: 'downloadFile' },
    summary: 'Newest file for people, for a platform and architecture',
    inPath: { ...CHANNEL, ...MACHINE },
    inQuery: { format: { shape: text.optional(), description: 'Format of the file.' } },
    answers: { 302: MOVED },
    refusals: [404],
  },
  {
    ...{ ...SHARED, path: '/feed/{app}/{channel}', id: 'readReleaseNotes' },
    summary: 'Release notes as JSON',
    inPath: CHANNEL,
    answers: {
      200: jsonAnswer('Published releases, newest first.', ANSWER_SHAPES.ReleaseNotesFeed),
      304: UNCHANGED,
    },
    refusals: [404],
  },
  {
    ...{ ...SHARED, path: '/feed/{app}/{channel}/rss.xml', id: 'readReleaseNotesRss' },
    summary: 'Release notes as RSS',
    inPath: CHANNEL,
    answers: { 200: typed('RSS 2.0.', 'application/rss+xml'), 304: UNCHANGED },
    refusals: [404],
  },
];

function machine(): Parameters {
  return { machine: { shape: text, description: 'Platform and architecture: `darwin-arm64`.' } };
}

function typed(description: string, mediaType: string): Answer {
  return { description, content: { [mediaType]: text } };
}
