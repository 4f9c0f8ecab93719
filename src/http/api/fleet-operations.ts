// Operations of push mode and of erasing devices (docs/contract.md 4.5 and 4.6), and operations that read: a
// release, apps, channels, a device, and the explanation of its decision (4.17 to 4.20).

import { z } from 'zod';
import { ANSWER_SHAPES } from '../../contract/answer-shape.ts';
import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { eraseDevice } from '../../fleet/erase-device.ts';
import { reportFleet } from '../../fleet/fleet-views.ts';
import type { Wave, WaveDecision } from '../../serving/fleet-decisions.ts';
import { appQuery } from '../endpoint/field.ts';
import {
  explainInput,
  explainQuery,
  planWaveBody,
  reportFleetBody,
  toldDeviceOf,
} from '../endpoint/fleet-body.ts';
import { call, type KeyOperation, lastOfEach, read } from '../endpoint/key-operation.ts';
import { jsonAnswer } from '../endpoint/operation.ts';
import { noteApp, parseShape } from '../endpoint/parse-shape.ts';
import { jsonReply, type Reply } from '../transport/reply.ts';

const releaseId = z.object({ id: z.string().describe('Id of the release.') });
const deviceQuery = z.object({
  deviceId: z.string().describe('Id of the device.'),
  ...appQuery.shape,
});

/** Operations that read a release, the apps, the channels, a device or an explanation. */
export const READING_OPERATIONS: readonly KeyOperation[] = [
  read({
    ...{ path: '/api/v1/releases/:id', id: 'readRelease' },
    summary: 'Read a release, its targeting, who is offered it and how many devices run it',
    input: releaseId,
    answer: ['The release.', ANSWER_SHAPES.OwnedRelease],
    refusals: [404],
    async run({ ledger, standings }, { scope }, { id }) {
      const owned = await ledger.readOwnedRelease(scope, id);
      if (isFailure(owned)) return owned;
      const { change, ...rest } = owned;
      const { app, channel } = owned.release;
      const standing = await standings.readRelease({ ref: app }, channel, { id, change });
      return isFailure(standing) ? standing : { ...rest, standing };
    },
  }),
  read({
    ...{ path: '/api/v1/apps', id: 'listApps' },
    summary: 'List the apps that the key may name',
    input: z.object({}),
    answer: ['The apps.', ANSWER_SHAPES.AppList],
    refusals: [],
    run: async ({ ledger }, { scope }) => ({ apps: await ledger.listApps(scope) }),
  }),
  read({
    ...{ path: '/api/v1/channels', id: 'listChannels' },
    summary: 'List the channels of an app with their settings',
    input: appQuery,
    answer: ['The channels, by name.', ANSWER_SHAPES.ChannelList],
    refusals: [404],
    async run({ ledger }, { scope }, { app }) {
      const channels = await ledger.listChannels(scope, app);
      return isFailure(channels) ? channels : { channels };
    },
  }),
  read({
    ...{ path: '/api/v1/devices/:deviceId', id: 'readDevice' },
    summary: 'Read a device as it is on record',
    input: deviceQuery,
    answer: ['The device.', ANSWER_SHAPES.DeviceAnswer],
    refusals: [404],
    async run({ ledger }, { scope }, query) {
      const app = await ledger.findApp(scope, query.app);
      if (isFailure(app)) return app;
      const found = await ledger.readDevice(app.id, query.deviceId);
      if (isFailure(found)) return found;
      const { history: _, ...device } = found;
      return { device: { ...device, ...(await ledger.readShownActions(app.id, device.deviceId)) } };
    },
  }),
  read({
    ...{ path: '/api/v1/explain', id: 'explainDecision' },
    summary: 'Explain why a device gets what it gets',
    description:
      'Writes nothing. The query may tell labels as `l.<key>=<value>`, which go over those on record.',
    ...{ input: explainQuery, gather: explainInput },
    answer: ['The decision and its reasons.', ANSWER_SHAPES.Explanation],
    refusals: [404],
    async run({ ledger, explainer }, { scope }, query) {
      const app = await ledger.findApp(scope, query.app);
      return isFailure(app) ? app : explainer.explainTold(app, toldDeviceOf(query));
    },
  }),
];

/** Operations of push mode, and the erasure of a device. */
export const FLEET_OPERATIONS: readonly KeyOperation[] = [
  call({
    ...{ method: 'POST', path: '/api/v1/fleet/report', id: 'reportFleet' },
    ...{ tag: 'Fleet', right: 'fleet' },
    summary: 'Report the state of devices that do not ask themselves',
    input: reportFleetBody,
    limits: { bodyBytesMax: LIMIT.reportBodyBytesMax, bodyMsMax: LIMIT.reportBodyMsMax },
    answers: { 200: jsonAnswer('How many devices were taken.', ANSWER_SHAPES.ReportedFleet) },
    refusals: [404],
    async run(services, caller, body) {
      const reported = await reportFleet(services, caller, body, Date.now());
      return isFailure(reported) ? reported : jsonReply(200, reported);
    },
  }),
  call({
    ...{ method: 'POST', path: '/api/v1/fleet/decisions', id: 'planWave' },
    ...{ tag: 'Fleet', right: 'fleet' },
    summary: 'Decide for a wave of devices',
    input: planWaveBody,
    answers: { 200: jsonAnswer('A decision for each, in their order.', ANSWER_SHAPES.Wave) },
    refusals: [404],
    async run({ planWave }, caller, body) {
      const wave = await planWave.plan(caller, body, Date.now());
      return isFailure(wave) ? wave : waveReply(wave);
    },
  }),
  erasing('/api/v1/devices/:deviceId', 'eraseDevice', 'Erase a device from the record'),
  // A path cannot name a device whose id is `.` or `..`, because clients remove such segments.
  erasing('/api/v1/devices', 'eraseNamedDevice', 'Erase a device that the query names'),
];

/** Declares an operation that erases a device, which the path or the query names. */
function erasing(path: string, id: string, summary: string): KeyOperation {
  return {
    ...{ method: 'DELETE', path, id, summary },
    ...{ tag: 'Fleet', right: 'fleet', isGuarded: true, parameters: deviceQuery.shape },
    description: 'Counts of hours and days stay. When it asks again, it is a new device.',
    answers: { 204: { description: 'It is erased.' } },
    refusals: [404],
    async serve(services, caller, exchange) {
      const given = { ...lastOfEach(exchange.queryText), ...Object.fromEntries(exchange.params) };
      noteApp(exchange, given);
      const query = parseShape(deviceQuery, given);
      if (isFailure(query)) return query;
      const erased = await eraseDevice(services, caller, query.app, query.deviceId);
      return isFailure(erased) ? erased : { status: 204 };
    },
  };
}

/**
 * Builds the reply to a wave from the finished bytes of its manifests, so that none is serialised again for
 * each of up to 500 devices.
 */
function waveReply({ app, channel, decisions }: Wave): Reply {
  const offered = decisions.filter(({ update }) => update !== undefined).length;
  const head = `{"app":${JSON.stringify(app)},"channel":${JSON.stringify(channel)},"decisions":[`;
  const parts: Buffer[] = [Buffer.from(head)];
  for (const [index, decision] of decisions.entries()) {
    parts.push(Buffer.from(decisionHead(decision, index > 0)), decision.update ?? NULL, CLOSE);
  }
  parts.push(Buffer.from(`],"updatesOffered":${offered}}`));
  return { status: 200, contentType: 'application/json', body: Buffer.concat(parts) };
}

const NULL = Buffer.from('null');
const CLOSE = Buffer.from('}');

function decisionHead({ deviceId }: WaveDecision, isFollowing: boolean): string {
  return `${isFollowing ? ',' : ''}{"deviceId":${JSON.stringify(deviceId)},"update":`;
}
