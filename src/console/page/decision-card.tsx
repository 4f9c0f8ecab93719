// Decision for a device if it asked now, with its reasons: every candidate release, highest version first.

import type { ExplainedCandidate, ExplainedDecision } from '../../contract/console-fleet.ts';
import type { Verdict } from '../../contract/reason.ts';
import { consolePath, queryText } from '../format/console-path.ts';
import { cohortPlace, reasonText, ticketText } from '../format/decision-text.ts';
import { numberText } from '../format/figure-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge, StatusBadge, type Tone } from '../part/badge.tsx';
import { Card } from '../part/card.tsx';
import { CopyButton } from '../part/copy-button.tsx';
import { LoadedView } from '../part/notice.tsx';

const DECISION_REFRESH_MS = 4000;

/** Card with the decision for a device. Loading it writes nothing and records no offer. */
export function DecisionCard(props: { app: string; deviceId: string; channel: string }) {
  const { app, deviceId, channel } = props;
  const decision = useLoad(`decision${queryText({ app, deviceId, channel })}`, DECISION_REFRESH_MS);
  return (
    <Card title="What it would get now">
      <LoadedView of={decision}>
        {(found) => (
          <>
            <Outcome decision={found} app={app} channel={channel} />
            <p class="ticket">
              <span>{ticketText(found)}</span>
              <CopyButton text={ticketText(found)} what="sentence" />
            </p>
            {found.candidates.length > 0 && (
              <ol class="candidates" aria-label="Releases considered, newest first">
                {found.candidates.map((candidate) => (
                  <CandidateRow
                    key={candidate.version}
                    candidate={candidate}
                    href={consolePath.release(app, channel, candidate.version)}
                  />
                ))}
              </ol>
            )}
            {found.considered > found.candidates.length && (
              <p class="hint">
                {numberText(found.considered - found.candidates.length)} more were passed over
                before the last one.
              </p>
            )}
          </>
        )}
      </LoadedView>
    </Card>
  );
}

function Outcome(props: { decision: ExplainedDecision; app: string; channel: string }) {
  const { decision, app, channel } = props;
  const { offer, reason, current } = decision;
  return (
    <div class="decision">
      {offer === null ? (
        <p class="decision-offer">Nothing</p>
      ) : (
        <p class="decision-offer">
          <a class="code" href={consolePath.release(app, channel, offer.version)}>
            {offer.version}
          </a>{' '}
          {offer.allowDowngrade === true && <Badge tone="warn">downgrade</Badge>}{' '}
          {offer.updateMode === 'required' && <Badge tone="bad">required</Badge>}
        </p>
      )}
      <p>{reasonText(decision)}</p>
      <p class="hint">
        It runs <span class="code">{current.version ?? 'an unknown version'}</span>{' '}
        {current.status !== null && <StatusBadge status={current.status} />}
        <span class="unseen">{reason}</span>
      </p>
    </div>
  );
}

type VerdictLook = {
  readonly label: string;
  readonly tone: Tone;
  /** Whether the device's bucket in the rollout explains the verdict. */
  readonly showsCohort?: true;
};

const LOOKS: Readonly<Record<Verdict, VerdictLook>> = {
  offered: { label: 'Offered', tone: 'good', showsCohort: true },
  'not-targeted': { label: 'Not for it', tone: 'quiet' },
  'outside-cohort': { label: 'Not yet its turn', tone: 'warn', showsCohort: true },
  'no-artifact': { label: 'No artifact', tone: 'quiet' },
  'first-offer-unavailable': { label: 'Cannot be offered now', tone: 'bad' },
  paused: { label: 'Paused', tone: 'warn' },
  deprecated: { label: 'Deprecated', tone: 'quiet' },
  'rolled-back': { label: 'Rolled back', tone: 'bad' },
};

/** Returns label and tone of a verdict, also of one that this page does not know yet. */
function lookOf(verdict: Verdict): VerdictLook {
  if (Object.hasOwn(LOOKS, verdict)) return LOOKS[verdict];
  return { label: verdict.replaceAll('-', ' '), tone: 'quiet' };
}

function CandidateRow({ candidate, href }: { candidate: ExplainedCandidate; href: string }) {
  const { version, verdict, detail, bucket, threshold } = candidate;
  const { label, tone, showsCohort = false } = lookOf(verdict);
  // The bucket explains nothing for a release that is rolled out to all devices.
  const isPartial = threshold !== cohortPlace.buckets && showsCohort;
  return (
    <li class={verdict === 'offered' ? 'chosen' : ''}>
      <a class="code strong" href={href}>
        {version}
      </a>
      <Badge tone={tone}>{label}</Badge>
      <span class="candidate-detail" dir="auto">
        {detail}
      </span>
      {isPartial && bucket !== undefined && <Cohort bucket={bucket} threshold={threshold} />}
    </li>
  );
}

/** Bar with the rollout and the device's bucket: the device is in when the bar reaches its mark. */
function Cohort({ bucket, threshold }: { bucket: number; threshold: number }) {
  const place = `${(bucket / cohortPlace.buckets) * 100}%`;
  const reached = `${(threshold / cohortPlace.buckets) * 100}%`;
  return (
    <span
      class="cohort"
      role="img"
      aria-label={`Stands at ${place} of the fleet; the roll-out reaches ${reached}`}
      title={`Its place: ${place}. The roll-out reaches ${reached}.`}
    >
      <span class="cohort-reach" style={{ width: reached }} />
      <span class="cohort-mark" style={{ left: place }} />
    </span>
  );
}
