// Endpoints of the management API, with the shapes that check their requests.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import { RELEASE_STATUSES } from '../../contract/resource.ts';
import { ANSWER_SHAPES } from '../shape/answer-shape.ts';
import { nameField, textField } from '../shape/field.ts';
import { explainQuery } from '../shape/fleet-body.ts';
import { BODY_SHAPES, jsonAnswer, type Operation, type Parameters } from '../shape/operation.ts';
import { PLAN_OPERATIONS } from './plan-operations.ts';

const APP = { shape: nameField, description: 'Ref or id of the app.' };
const DRY_RUN: Parameters = {
  dryRun: {
    shape: z.enum(['true', 'false']).optional(),
    description: 'With `true` nothing is written: the answer tells findings and the effect.',
  },
};
const IDEMPOTENCY: Parameters = {
  'Idempotency-Key': {
    shape: textField(LIMIT.idempotencyKeyLengthMax).optional(),
    description: 'A call that is repeated with the same key within 24 hours is answered as before.',
  },
};

const LIST_QUERY: Parameters = {
  app: { shape: z.string().optional(), description: 'Ref or id; all apps when left out.' },
  channel: { shape: z.string().optional(), description: 'Name; all channels when left out.' },
  version: { shape: z.string().optional(), description: 'Found by its canonical form.' },
  status: {
    shape: z.string().optional(),
    description: `One of ${RELEASE_STATUSES.join(', ')}; another one matches nothing.`,
  },
  page: {
    shape: z.int().default(1).optional(),
    description: 'From 1 on; what makes no sense is the default.',
  },
  per_page: {
    shape: z.int().default(LIMIT.perPageDefault).optional(),
    description: `1 to ${LIMIT.perPageMax}; what makes no sense is the default.`,
  },
};

const { app, channel, deviceId, platform, arch, version, bundle } = explainQuery.shape;

const EXPLAIN_QUERY: Parameters = {
  app: { shape: app, description: APP.description },
  channel: { shape: channel, description: 'Channel; the one on record when left out.' },
  deviceId: { shape: deviceId, description: 'Device on record, or one to decide for.' },
  platform: { shape: platform, description: 'In place of what is on record.' },
  arch: { shape: arch, description: 'In place of what is on record.' },
  version: { shape: version, description: 'In place of what is on record.' },
  bundle: { shape: bundle, description: 'Kind that it was installed from.' },
};

const RELEASES = '/api/v1/releases';
const GUARDED = { isGuarded: true } as const;

/** Endpoints below `/api/v1`. */
export const MANAGEMENT_OPERATIONS: readonly Operation[] = [
  {
    ...{ method: 'post', path: RELEASES, id: 'publishRelease', tag: 'Releases', ...GUARDED },
    summary: 'Publish a release',
    description:
      'A version exists once on an app and channel. A release that was never offered can be withdrawn.',
    inQuery: DRY_RUN,
    inHeaders: IDEMPOTENCY,
    body: BODY_SHAPES.NewRelease,
    answers: {
      200: jsonAnswer('Dry run: what the call would do.', ANSWER_SHAPES.RehearsedRelease),
      201: jsonAnswer('The release.', ANSWER_SHAPES.ReleaseAnswer, 'Idempotent-Replayed'),
    },
    refusals: [404, 408, 409, 413],
  },
  {
    ...{ method: 'get', path: RELEASES, id: 'listReleases', tag: 'Releases', ...GUARDED },
    summary: 'List releases, newest first',
    inQuery: LIST_QUERY,
    answers: { 200: jsonAnswer('A page of them.', ANSWER_SHAPES.ReleasePage) },
    refusals: [],
  },
  {
    ...{ method: 'patch', path: RELEASES, id: 'controlServing', tag: 'Releases', ...GUARDED },
    summary: 'Steer a release: its rollout, status and targeting',
    description: 'Once a release was offered, its rollout and its targeting can only widen.',
    inQuery: DRY_RUN,
    body: BODY_SHAPES.ServingControl,
    answers: {
      200: jsonAnswer(
        'How it is served from now on; for a dry run what the call would do.',
        z.union([ANSWER_SHAPES.RehearsedServing, ANSWER_SHAPES.ServingAnswer]),
      ),
    },
    refusals: [404, 408, 409, 413, 422],
  },
  {
    ...{ method: 'delete', path: RELEASES, id: 'withdrawRelease', tag: 'Releases', ...GUARDED },
    summary: 'Withdraw a release that was never offered',
    body: BODY_SHAPES.Withdrawal,
    answers: { 200: jsonAnswer('Its version is free again.', ANSWER_SHAPES.WithdrawnAnswer) },
    refusals: [404, 408, 409, 413],
  },
  {
    ...{ method: 'post', path: `${RELEASES}/promote`, id: 'promoteRelease' },
    ...{ tag: 'Releases', ...GUARDED },
    summary: 'Publish a release of one channel on another',
    description:
      'A source that is paused or unhealthy is refused unless the call says `rollout`, `plan` or `paused`.',
    inQuery: DRY_RUN,
    inHeaders: IDEMPOTENCY,
    body: BODY_SHAPES.Promotion,
    answers: {
      200: jsonAnswer('Dry run: what the call would do.', ANSWER_SHAPES.RehearsedRelease),
      201: jsonAnswer('The release.', ANSWER_SHAPES.ReleaseAnswer, 'Idempotent-Replayed'),
    },
    refusals: [404, 408, 409, 413],
  },
  ...PLAN_OPERATIONS,
  {
    ...{ method: 'get', path: `${RELEASES}/{id}`, id: 'readRelease', tag: 'Reading', ...GUARDED },
    summary: 'Read a release, its targeting and how many devices run it',
    inPath: { id: { shape: z.string(), description: 'Id of the release.' } },
    answers: { 200: jsonAnswer('The release.', ANSWER_SHAPES.OwnedRelease) },
    refusals: [404],
  },
  {
    ...{ method: 'get', path: '/api/v1/apps', id: 'listApps', tag: 'Reading', ...GUARDED },
    summary: 'List the apps that the key may name',
    answers: { 200: jsonAnswer('The apps.', ANSWER_SHAPES.AppList) },
    refusals: [],
  },
  {
    ...{ method: 'get', path: '/api/v1/channels', id: 'listChannels', tag: 'Reading', ...GUARDED },
    summary: 'List the channels of an app with their settings',
    inQuery: { app: APP },
    answers: { 200: jsonAnswer('The channels, by name.', ANSWER_SHAPES.ChannelList) },
    refusals: [404],
  },
  {
    ...{ method: 'get', path: '/api/v1/devices/{deviceId}', id: 'readDevice' },
    ...{ tag: 'Reading', ...GUARDED },
    summary: 'Read a device as it is on record',
    inPath: { deviceId: { shape: z.string(), description: 'Id of the device.' } },
    inQuery: { app: APP },
    answers: { 200: jsonAnswer('The device.', ANSWER_SHAPES.DeviceAnswer) },
    refusals: [404],
  },
  {
    ...{ method: 'get', path: '/api/v1/explain', id: 'explainDecision', tag: 'Reading' },
    ...GUARDED,
    summary: 'Explain why a device gets what it gets',
    description:
      'Writes nothing. The query may tell labels as `l.<key>=<value>`, which go over those on record.',
    inQuery: EXPLAIN_QUERY,
    answers: { 200: jsonAnswer('The decision and its reasons.', ANSWER_SHAPES.Explanation) },
    refusals: [404],
  },
  {
    ...{
      method: 'post',
      path: '/api/v1/fleet/report',
      id: 'reportFleet',
      tag: 'Fleet',
      ...GUARDED,
    },
    summary: 'Report the state of devices that do not ask themselves',
    body: BODY_SHAPES.FleetReport,
    answers: { 200: jsonAnswer('How many devices were taken.', ANSWER_SHAPES.ReportedFleet) },
    refusals: [404, 408, 413],
  },
  {
    ...{
      method: 'post',
      path: '/api/v1/fleet/decisions',
      id: 'planWave',
      tag: 'Fleet',
      ...GUARDED,
    },
    summary: 'Decide for a wave of devices',
    body: BODY_SHAPES.WaveRequest,
    answers: { 200: jsonAnswer('A decision for each, in their order.', ANSWER_SHAPES.Wave) },
    refusals: [404, 408, 413],
  },
  {
    ...{ method: 'get', path: '/api/v1/openapi.json', id: 'readReference', tag: 'Reading' },
    isGuarded: false,
    summary: 'This document',
    answers: {
      200: jsonAnswer('OpenAPI 3.1.', z.record(z.string(), z.unknown())),
      304: { description: 'The present document is the one of `If-None-Match`.' },
    },
    refusals: [],
  },
];
