// Review of a release before it is published or promoted: its first rollout, its findings and its effect.

import type { DryRunAnswer, UnpublishedRelease } from '../../contract/dry-run.ts';
import { Notice } from '../form/notice.tsx';
import type { PaceDraft } from '../form/pace.tsx';
import { percentText } from '../format/figure-text.ts';
import type { Asked } from '../hook/use-action.ts';
import { DryRunView } from './dry-run.tsx';

/** Review of a release on its channel; if there is no dry run, says why. */
export function ReleaseReview(props: {
  dryRun: Asked<DryRunAnswer<UnpublishedRelease>>;
  channel: string;
  pace: PaceDraft;
}) {
  const { dryRun, channel, pace } = props;
  const { said, error } = dryRun;
  if (said === undefined) {
    return <Notice tone="warn">The effect cannot be shown: {error}</Notice>;
  }
  return (
    <>
      <p>{beginText(pace, said.release, channel)}</p>
      <DryRunView dryRun={said} />
    </>
  );
}

function beginText(
  { kind }: PaceDraft,
  { rolloutPct }: UnpublishedRelease,
  channel: string,
): string {
  if (kind === 'plan') return `It begins at 0\u00a0% on ${channel}, and its plan raises it.`;
  if (kind === 'paused') return `It is paused on ${channel} until it is resumed.`;
  return `It begins at ${percentText(rolloutPct)} on ${channel}.`;
}
