// What check-ins tell of a release: its health, where its trouble is, and how it spreads.

import type { PlanAndHealth } from '../../contract/console.ts';
import { queryText } from '../format/query-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { AgeCard } from './age-card.tsx';
import { HealthCard } from './health-card.tsx';
import type { ReleaseName } from './release-name.ts';
import { TroubleCard } from './trouble-card.tsx';

const TROUBLE_REFRESH_MS = 10_000;
const ADOPTION_REFRESH_MS = 30_000;

/** Cards with the signals of a release. Trouble is shown only where there is some. */
export function SignalCards({ name, planned }: { name: ReleaseName; planned: PlanAndHealth }) {
  const { data: trouble } = useLoad(`releases/trouble${queryText(name)}`, TROUBLE_REFRESH_MS);
  const { data: spread } = useLoad(`releases/adoption${queryText(name)}`, ADOPTION_REFRESH_MS);
  const { health, plan } = planned;
  return (
    <>
      <HealthCard name={name} health={health} guards={plan?.guards ?? null} trouble={trouble} />
      {trouble !== undefined && <TroubleCard trouble={trouble} />}
      {spread?.adoption && <AgeCard adoption={spread.adoption} />}
    </>
  );
}
