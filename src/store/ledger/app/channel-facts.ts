// SQL of what the overview shows of a channel beside its standing: its devices, those on its newest release,
// and its open plan. Counts are sums of cells, never a scan of devices.

import type { ChannelFacts, ChannelPlan } from '../../../contract/console.ts';
import { isoTime } from '../../../contract/text.ts';
import { byVersion, parseVersion } from '../../../domain/decision/version.ts';
import { nextAtMs, type PlanState, type PlanTime } from '../../../domain/rollout/plan-state.ts';
import { readPlanTime } from '../change/plan-rows.ts';
import type { Sql } from '../database/database.ts';

type Place = {
  readonly appId: string;
  readonly channel: string;
  /** Version of the newest release; undefined without one. */
  readonly newest: string | undefined;
};

type CountRow = Omit<ChannelFacts, 'plan'> & { readonly place: number };

const COUNTS = `
  SELECT listed.place::int AS place, sum(cell.devices)::float8 AS devices,
    coalesce(sum(cell.devices) FILTER (WHERE cell.version = listed.version), 0)::float8 AS "onNewest"
  FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY
    AS listed (app_id, channel, version, place)
  JOIN fleet_count_parts AS cell USING (app_id, channel)
  GROUP BY listed.place`;

type PlanRow = {
  readonly appId: string;
  readonly channel: string;
  readonly version: string;
  readonly state: PlanState;
};

const PLANS = `
  SELECT apps.id AS "appId", channels.name AS channel, releases.version, rollout_plans.state
  FROM apps
  JOIN channels ON channels.app_id = apps.id
  JOIN rollout_plans ON rollout_plans.channel_id = channels.id
  JOIN releases ON releases.id = rollout_plans.release_id
  WHERE apps.id = ANY ($1::text[]) AND rollout_plans.status IN ('scheduled', 'running', 'held')`;

/** Reads the facts of channels, in the order of `places`; of several open plans, the highest version's. */
export async function readChannelFacts(
  sql: Sql,
  places: readonly Place[],
): Promise<readonly ChannelFacts[]> {
  const counted = await sql.query<CountRow>(COUNTS, [
    places.map(({ appId }) => appId),
    places.map(({ channel }) => channel),
    places.map(({ newest = '' }) => parseVersion(newest)?.canonical ?? null),
  ]);
  const counts = new Map(counted.map(({ place, ...count }) => [place - 1, count]));
  const rows = await sql.query<PlanRow>(PLANS, [[...new Set(places.map(({ appId }) => appId))]]);
  const time = rows.length === 0 ? undefined : await readPlanTime(sql);
  const lowestFirst = byVersion(rows, ({ version }) => version).toReversed();
  const plans = new Map(
    lowestFirst.map((row) => [`${row.appId}/${row.channel}`, time && planOf(row, time)]),
  );
  return places.map(({ appId, channel }, index) => ({
    ...(counts.get(index) ?? { devices: 0, onNewest: 0 }),
    plan: plans.get(`${appId}/${channel}`) ?? null,
  }));
}

function planOf({ version, state }: PlanRow, time: PlanTime): ChannelPlan {
  const { status, steps, step, tripped, waitingFor, guards } = state;
  const atMs = nextAtMs(state, time);
  return {
    ...{ version, status, tripped, waitingFor },
    nextRollout: steps[(step ?? -1) + 1]?.rollout ?? null,
    nextAt: atMs === null ? null : isoTime(atMs),
    isGuarded: guards !== null,
  };
}
