// Description of the endpoints for devices and readers of feeds. Their code does not use these shapes,
// because it must answer millions of requests; tests compare the description with the answers.

import { z } from 'zod';
import { ANSWER_SHAPES } from '../../contract/answer-shape.ts';
import { LIMIT } from '../../contract/limit.ts';
import { SLICES } from '../../domain/decision/cohort.ts';
import { failureBody } from '../endpoint/fleet-body.ts';
import { type Answer, jsonAnswer, type Operation, type Parameters } from '../endpoint/operation.ts';

const text = z.string();
const slice = z.int().min(0);
/** Parameters in paths, by their names. */
const PATH_PARAMETERS: Parameters = {
  app: text.describe('Ref of the app.'),
  channel: text.describe('Name of the channel.'),
  platform: text.describe('For example `linux`, `darwin` or `windows`.'),
  arch: text.describe('For example `x86_64` or `aarch64`.'),
  machine: text.describe('Platform and architecture: `darwin-arm64`.'),
  version: text.describe('What the device runs.'),
  file: text.describe('Name of the file.'),
  slice: slice.max(SLICES - 1).describe('Slice of the device.'),
};
const BUNDLE: Parameters = {
  bundle: text.optional().describe('Kind that the app was installed from.'),
};
const FORMAT: Parameters = { format: text.optional().describe('Format of the file.') };

/** Parameters by which a device sends its id. */
const NAMED = {
  query: { device: text.optional().describe('Id, where a client cannot send the header.') },
  headers: {
    'X-Service-Device': z
      .string()
      .min(1)
      .max(LIMIT.deviceIdLengthMax)
      .optional()
      .describe('Id of the device. Without it a device takes part in no staged rollout.'),
  },
} satisfies Readonly<Record<string, Parameters>>;

const NO_UPDATE: Answer = { description: 'There is no update for this device.' };
const UNCHANGED: Answer = { description: 'The present file is the one of `If-None-Match`.' };
const MOVED: Answer = { description: 'Address of the file.', headers: ['Location'] };

/** Endpoints for devices. On those that decide, query parameters `l.<key>` are labels. */
export const DEVICE_OPERATIONS: readonly Operation[] = [
  endpoint('/u/:app/:channel/:platform/:arch/:version', {
    id: 'checkForUpdate',
    summary: 'Update check',
    description: 'The query may tell labels as `l.<key>=<value>`.',
    query: { ...NAMED.query, ...BUNDLE },
    headers: NAMED.headers,
    answers: { 200: jsonAnswer('The update.', ANSWER_SHAPES.UpdateManifest), 204: NO_UPDATE },
  }),
  endpoint('/c/:app/:channel/:platform/:arch/:version/:slice', {
    id: 'checkForUpdateOfSlice',
    summary: 'Update check that a cache can keep the answer of',
    description:
      'Asked for a slice of the fleet, which a client works out from its id (contract 28.3).',
    query: BUNDLE,
    answers: {
      200: jsonAnswer('The update.', ANSWER_SHAPES.UpdateManifest),
      204: { description: 'There is no update for this slice.' },
      304: UNCHANGED,
    },
  }),
  endpoint('/u/:app/:channel/:platform/:arch/:version/failure', {
    ...NAMED,
    method: 'POST',
    id: 'reportFailure',
    summary: 'Tell that a version could not be installed',
    body: failureBody,
    answers: { 204: { description: 'It is recorded, or counts nowhere.' } },
  }),
  endpoint('/e/:app/:channel/:file', {
    ...NAMED,
    id: 'readElectronFile',
    summary: 'Update file of electron-updater: `latest.yml` and its like',
    answers: { 200: typed('The release on offer.', 'text/yaml'), 304: UNCHANGED },
  }),
  endpoint('/e/:app/:channel/:arch/:file', {
    ...NAMED,
    id: 'readElectronFileOfArch',
    summary: 'Update file of electron-updater for one architecture',
    answers: { 200: typed('The release on offer.', 'text/yaml'), 304: UNCHANGED },
  }),
  endpoint('/squirrel/:app/:channel/:machine/:version', {
    ...NAMED,
    id: 'checkSquirrelMac',
    summary: 'Update check of Squirrel.Mac',
    answers: { 200: jsonAnswer('The update.', ANSWER_SHAPES.SquirrelManifest), 204: NO_UPDATE },
  }),
  endpoint('/squirrel/:app/:channel/:machine/msix/:version', {
    ...NAMED,
    id: 'checkMsix',
    summary: 'Update check of Electron on Windows, installed from MSIX',
    answers: { 200: jsonAnswer('The update.', ANSWER_SHAPES.SquirrelManifest), 204: NO_UPDATE },
  }),
  endpoint('/squirrel/:app/:channel/:machine/:version/RELEASES', {
    ...NAMED,
    id: 'readSquirrelReleases',
    summary: 'Index of Squirrel.Windows',
    answers: { 200: typed('`SHA1 URL SIZE`, or nothing.', 'text/plain'), 304: UNCHANGED },
  }),
  endpoint('/velopack/:app/:channel/:file', {
    ...NAMED,
    id: 'readVelopackFile',
    summary: 'Feed of Velopack (`releases.{name}.json`), or a file of a release',
    answers: {
      200: jsonAnswer('The package, or none.', ANSWER_SHAPES.VelopackFeed),
      302: MOVED,
      304: UNCHANGED,
    },
  }),
  endpoint('/sparkle/:app/:channel/:file', {
    id: 'readAppcast',
    summary: 'Appcast of Sparkle and WinSparkle',
    query: { ...NAMED.query, arch: text.optional().describe('Architecture.') },
    headers: NAMED.headers,
    answers: { 200: typed('RSS with one item, or none.', 'application/xml'), 304: UNCHANGED },
  }),
  endpoint('/download/:app/:channel', {
    id: 'downloadForAgent',
    summary: 'Newest file for people, by their browser',
    query: FORMAT,
    answers: { 302: MOVED },
  }),
  endpoint('/download/:app/:channel/:platform', {
    id: 'downloadForPlatform',
    summary: 'Newest file for people, for a platform',
    query: FORMAT,
    answers: { 302: MOVED },
  }),
  endpoint('/download/:app/:channel/:platform/:arch', {
    id: 'downloadFile',
    summary: 'Newest file for people, for a platform and architecture',
    query: FORMAT,
    answers: { 302: MOVED },
  }),
  endpoint('/feed/:app/:channel', {
    id: 'readReleaseNotes',
    summary: 'Release notes as JSON',
    answers: {
      200: jsonAnswer('Published releases, newest first.', ANSWER_SHAPES.ReleaseNotesFeed),
      304: UNCHANGED,
    },
  }),
  endpoint('/feed/:app/:channel/rss.xml', {
    id: 'readReleaseNotesRss',
    summary: 'Release notes as RSS',
    answers: { 200: typed('RSS 2.0.', 'application/rss+xml'), 304: UNCHANGED },
  }),
];

/** Describes an endpoint; the parameters of its path are those of `PATH_PARAMETERS`. */
function endpoint(
  path: string,
  {
    query = {},
    ...described
  }: Pick<Operation, 'id' | 'summary' | 'description' | 'headers' | 'body' | 'answers'> & {
    readonly method?: 'POST';
    readonly query?: Parameters;
  },
): Operation {
  const names = path.split('/');
  const inPath = Object.entries(PATH_PARAMETERS).filter(([name]) => names.includes(`:${name}`));
  return {
    ...{ method: 'GET', path, tag: 'Devices', isGuarded: false, refusals: [404] },
    parameters: { ...Object.fromEntries(inPath), ...query },
    ...described,
  };
}

function typed(description: string, mediaType: string): Answer {
  return { description, content: { [mediaType]: text } };
}
