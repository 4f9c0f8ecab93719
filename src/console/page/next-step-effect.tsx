// What the next step of a plan would do, as the service itself would decide now.

import type { RenderedReleaseDetail } from '../../contract/console.ts';
import type { ReleaseName } from '../api/call.ts';
import { ServingEffect, useServingRehearsal } from '../part/rehearsal.tsx';
import { useMay } from '../session/use-session.ts';

/** Effect of raising the roll-out to this share; nothing for viewers, who cannot ask. */
export function NextStepEffect(props: {
  name: ReleaseName;
  release: Pick<RenderedReleaseDetail['release'], 'rolloutPct'>;
  rollout: number;
}) {
  const { name, release, rollout } = props;
  const isAsking = useMay('publisher') && rollout > release.rolloutPct;
  // Asked again whenever the roll-out has changed.
  const rehearsal = useServingRehearsal(
    isAsking ? { ...name, rollout } : undefined,
    release.rolloutPct,
  );
  return isAsking ? <ServingEffect rehearsal={rehearsal} /> : null;
}
