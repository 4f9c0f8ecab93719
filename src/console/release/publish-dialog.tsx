// Dialog that publishes a release in steps; it can begin with the files of an existing release.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppOverview, ReleaseDetail, RenderedReleaseDetail } from '../../contract/console.ts';
import type { DryRunAnswer, UnpublishedRelease } from '../../contract/dry-run.ts';
import { ApiError, call } from '../api/call.ts';
import { Dialog } from '../form/dialog.tsx';
import { PACE_PATHS, PaceFields, PaceSummary, paceBody, paceDraft } from '../form/pace.tsx';
import { Steps } from '../form/steps.tsx';
import { TargetingEditor } from '../form/targeting-editor.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import type { PastedRelease } from '../format/pasted-release.ts';
import {
  draftObstacle,
  type TargetingDraft,
  targetingDraft,
  targetingOf,
} from '../format/targeting.ts';
import { useReview } from '../hook/use-action.ts';
import { useLoad } from '../hook/use-load.ts';
import { useConfirmedReach } from '../part/dry-run.tsx';
import { ReleaseReview } from '../part/release-review.tsx';
import { MatchingDevices, TargetingView } from '../part/targeting-view.tsx';
import {
  FILES_PATHS,
  FilesFields,
  FilesSummary,
  filesBody,
  filesDraft,
  filesObstacle,
} from './release-files.tsx';

/** Dialog for a new release; opens the release after publishing. */
export function PublishDialog(props: {
  app: AppOverview;
  channel: string;
  defaultRollout: number;
  /** Release whose artifacts and targeting the new one begins with. */
  from?: Pick<ReleaseDetail['release'], 'version' | 'artifacts' | 'targets'>;
  onClose: () => void;
}) {
  const { app, channel, defaultRollout, from, onClose } = props;
  const { route } = useLocation();
  const [files, setFiles] = useState(() => filesDraft(from));
  const [targeting, setTargeting] = useState(() => targetingDraft(from?.targets ?? null));
  const [pace, setPace] = useState(() => paceDraft(String(defaultRollout)));
  const takeOver = ({ fields, artifacts, targets }: PastedRelease) => {
    const { rollout, ...named } = fields;
    const taken = artifacts.length > 0 ? { artifacts } : {};
    setFiles({ ...files, ...named, ...taken, pasted: '' });
    if (rollout !== undefined) setPace({ ...pace, rollout });
    if (targets !== undefined) setTargeting(targetingDraft(targets));
  };
  const targets = targetingOf(targeting);
  const release = { app: app.ref, channel, ...filesBody(files), ...paceBody(pace), targets };
  const { dryRun, isReviewed, review } = useReview(release, askDryRun);
  const { obstacle, question } = useConfirmedReach(dryRun);
  const publish = async () => {
    await atVersion(call('POST', 'releases', release));
    route(consolePath.release(app.ref, channel, release.version));
  };
  const isFaulty = dryRun.said?.findings.some(({ severity }) => severity === 'error') ?? false;
  const steps = [
    {
      ...{ name: 'Files', title: 'What is published', fields: FILES_PATHS },
      obstacle: filesObstacle(files),
      summary: <FilesSummary draft={files} />,
      content: <FilesFields draft={files} onChange={setFiles} onPasted={takeOver} />,
    },
    {
      ...{ name: 'Who', title: 'Who is offered it', fields: ['targets'] },
      obstacle: draftObstacle(targeting),
      summary: <TargetingView targets={targets} />,
      content: <Audience {...{ app, channel, draft: targeting, onChange: setTargeting }} />,
    },
    {
      ...{ name: 'How fast', title: 'How fast it goes out', fields: PACE_PATHS },
      summary: <PaceSummary {...pace} />,
      content: <PaceFields pace={pace} onChange={setPace} />,
    },
  ];
  return (
    <Dialog title={`Publish to ${channel}`} isWide onClose={onClose}>
      <Steps
        steps={steps}
        isReviewed={isReviewed}
        onReview={review}
        send={isFaulty ? 'Publish anyway' : 'Publish'}
        tone={isFaulty ? 'danger' : 'primary'}
        obstacle={obstacle}
        onSend={publish}
        onCancel={onClose}
      >
        <ReleaseReview dryRun={dryRun} channel={channel} pace={pace} />
        {question}
      </Steps>
    </Dialog>
  );
}

function askDryRun(release: object): Promise<DryRunAnswer<UnpublishedRelease>> {
  return atVersion(call('POST', 'releases/rehearse', release));
}

/** Turns the service's refusal of an existing version into one of the field `version`. */
async function atVersion<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ApiError && /^Version already exists/.test(error.message))) throw error;
    throw new ApiError(error.status, `version: ${error.message}`);
  }
}

/** Targeting of a new release, and how many devices match it. */
function Audience(props: {
  app: AppOverview;
  channel: string;
  draft: TargetingDraft;
  onChange: (draft: TargetingDraft) => void;
}) {
  const { app, channel, draft, onChange } = props;
  const labels = useLoad(`labels${queryText({ app: app.ref })}`);
  const targets = targetingOf(draft);
  return (
    <>
      {targets === null && (
        <p>
          <strong>Every device</strong> on {channel} that a file of the release is for.
        </p>
      )}
      {targets !== null && draftObstacle(draft) === undefined && (
        <MatchingDevices app={app.ref} channel={channel} targets={targets} />
      )}
      <TargetingEditor draft={draft} onChange={onChange} labels={labels.data} />
    </>
  );
}

/** Dialog for the next release, which begins with the artifacts and the targeting of this one. */
export function NextDialog(props: {
  app: AppOverview;
  channel: string;
  release: RenderedReleaseDetail['release'];
  onClose: () => void;
}) {
  const { app, channel, release, onClose } = props;
  const { data } = useLoad(`channel${queryText({ app: app.ref, channel })}`);
  if (data === undefined) return null;
  const { defaultRollout } = data;
  const common = { app, channel, defaultRollout, onClose };
  return <PublishDialog {...common} from={release} />;
}
