// A service with an app whose devices speak DDI, the questions of its fleet, and a fleet on record.

import { DdiDevice } from '../../../test/support/ddi-device.ts';
import { eventually } from '../../../test/support/eventually.ts';
import type { NodeSettings, ServingNode } from '../../../test/support/node.ts';
import { createNamed, type Json, type Tenant } from '../../../test/support/tenant.ts';
import { deviceId, type Question } from '../../load/question.ts';
import { errorsOf } from '../../measure/comparison.ts';
import type { Deployment } from '../../service/deployment.ts';

export type DdiService = {
  readonly node: ServingNode;
  readonly tenant: Tenant;
  readonly stores: NodeSettings & { readonly DATABASE_URL: string; readonly REDIS_URL: string };
};

/** Version of the one release, and a version below it. */
export const NEWEST = '2.0.0';
export const BEFORE = '1.0.0';

const MACHINE = 'linux/aarch64';
const APP = 'boards';
const FILE = {
  platform: 'linux',
  url: 'https://downloads.example.com/board-2.0.0.swu',
  size: 81_264_640,
  sha1: 'a'.repeat(40),
  sha256: 'b'.repeat(64),
};
const CONNECTIONS = 50;
const SECONDS_MAX = 120;
const ATTEMPTS_MAX = 5;

/** Starts a node on stores of its own, with an app that has one release; `more` is added to that. */
export async function startDdi(deployment: Deployment, more: Json = {}): Promise<DdiService> {
  const stores = await deployment.startStores();
  const node = await deployment.startNode(stores);
  const tenant = await createNamed(node, APP);
  await tenant.openDdi();
  await tenant.release(NEWEST, { artifacts: [FILE], ...more });
  await untilAnswered(node);
  return { node, tenant, stores };
}

/** Starts another node on the same stores. */
export async function startBeside(deployment: Deployment, service: DdiService) {
  const node = await deployment.startNode(service.stores);
  await untilAnswered(node);
  return node;
}

/** Returns a device of the fleet, as it asks a node. */
export function deviceAt(node: ServingNode, index: number, version = BEFORE): DdiDevice {
  return new DdiDevice(node, APP, deviceId(index), { machine: `${MACHINE}/${version}` });
}

/** Requests of devices on these versions in turn: polls, or what is sent to an address below the base. */
export function ddiQuestion(
  devices: number,
  versions: readonly string[],
  below = '',
  sent?: Question['sent'],
): Question {
  const paths = versions.map(
    (version) => `/ddi/${APP}/stable/${MACHINE}/${version}/controller/v1/{device}${below}`,
  );
  return { paths, devices, sent };
}

/** Checks of the same devices on `/u`. */
export function checkQuestion(devices: number, version: string): Question {
  return { paths: [`/u/${APP}/stable/${MACHINE}/${version}`], devices };
}

export function putQuestion(devices: number, versions: readonly string[], data: Json): Question {
  const body = JSON.stringify({ data });
  return ddiQuestion(devices, versions, '/configData', { method: 'PUT', body });
}

/** Feedback of every device about one action. */
export function feedbackQuestion(
  devices: number,
  versions: readonly string[],
  id: string,
  status: Json,
): Question {
  const body = JSON.stringify({ id, status });
  const below = `/deploymentBase/${id}/feedback`;
  return ddiQuestion(devices, versions, below, { method: 'POST', body });
}

/**
 * Lets devices ask once each, as fast as it goes; those from `skip` on, or all. Begins again where some were
 * not answered as expected, as those on a busy machine; throws when that does not help.
 */
export async function askOnce(
  deployment: Deployment,
  node: ServingNode,
  question: Question,
  { count = question.devices, skip = 0, expected = 200 } = {},
): Promise<void> {
  const { generator } = deployment.comparison(0);
  const load = {
    ...{ host: '127.0.0.1', port: Number(new URL(node.url).port), question, skip },
    ...{ connections: Math.min(CONNECTIONS, count), requestsMax: count },
    ...{ seconds: SECONDS_MAX, warmupSeconds: 0 },
  };
  let told = '';
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const result = await generator.run(load);
    const errors = errorsOf(result, expected);
    if (result.responses === count && Object.keys(errors).length === 0) return;
    told = `${result.responses} of ${count} devices were answered: ${JSON.stringify(errors)}`;
  }
  throw new Error(told);
}

function untilAnswered(node: ServingNode): Promise<void> {
  return eventually(`${node.url} answers DDI`, async () => {
    return (await deviceAt(node, 0).ask('GET')).status === 200;
  });
}
