// Dialog that publishes a release, once it was shown what speaks against it and what it would do.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppOverview, ReleaseDetail } from '../../contract/console.ts';
import type { Rehearsed, UnpublishedRelease } from '../../contract/rehearsed.ts';
import { call } from '../api/call.ts';
import {
  type ArtifactDraft,
  artifactOf,
  NEW_ARTIFACT,
  nextArtifact,
  withVersion,
} from '../format/artifact-draft.ts';
import { consolePath, queryText } from '../format/console-path.ts';
import type { PastedRelease } from '../format/pasted-release.ts';
import { draftObstacle, targetingDraft, targetingOf } from '../format/targeting.ts';
import { useLoad } from '../hook/use-load.ts';
import { ArtifactRows } from '../part/artifact-rows.tsx';
import { Dialog } from '../part/dialog.tsx';
import { Field, TextArea } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { type PaceDraft, PaceFields, paceBody } from '../part/pace.tsx';
import { RehearsalView, useConfirmedReach } from '../part/rehearsal.tsx';
import { MatchingDevices, TargetingEditor } from '../part/targeting-editor.tsx';
import { PasteRelease } from './paste-release.tsx';

type Fields = {
  readonly version: string;
  readonly notes: string;
};

/**
 * Dialog for a new release; opens the release after publishing. It is reviewed first: whatever is changed
 * then has to be reviewed again.
 */
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
  const labels = useLoad(`labels${queryText({ app: app.ref })}`);
  const [fields, setFields] = useState<Fields>({ version: '', notes: '' });
  const [pace, setPace] = useState<PaceDraft>({ kind: 'share', rollout: String(defaultRollout) });
  const [artifacts, setArtifacts] = useState<readonly ArtifactDraft[]>(
    from === undefined || from.artifacts.length === 0
      ? [NEW_ARTIFACT]
      : from.artifacts.map(nextArtifact),
  );
  const [draft, setDraft] = useState(targetingDraft(from?.targets ?? null));
  // Version that the addresses name: it is replaced as soon as the new one is entered.
  const [named, setNamed] = useState(from?.version ?? '');
  const rename = () => {
    const version = fields.version.trim();
    if (version === '' || named === '') return;
    setArtifacts(withVersion(artifacts, named, version));
    setNamed(version);
  };
  const takeOver = (pasted: PastedRelease) => {
    const { rollout, ...named } = pasted.fields;
    setFields({ ...fields, ...named });
    if (rollout !== undefined) setPace({ ...pace, rollout });
    if (pasted.artifacts.length > 0) setArtifacts(pasted.artifacts);
    if (pasted.targets !== undefined) setDraft(targetingDraft(pasted.targets));
  };
  const release = {
    app: app.ref,
    channel,
    ...fields,
    ...paceBody(pace),
    targets: targetingOf(draft),
    artifacts: artifacts.map(artifactOf).filter((artifact) => artifact !== undefined),
  };
  const { reviewed, review } = useReview(release);
  const publish = async () => {
    await call('POST', 'releases', release);
    route(consolePath.release(app.ref, channel, fields.version));
  };
  const { obstacle: unsure, question } = useConfirmedReach({ said: reviewed, error: undefined });
  const isFaulty = reviewed?.findings.some(({ severity }) => severity === 'error') ?? false;
  return (
    <Dialog title={`Publish to ${channel}`} isWide onClose={onClose}>
      <Form
        send={reviewed === undefined ? 'Review' : isFaulty ? 'Publish anyway' : 'Publish'}
        tone={isFaulty ? 'danger' : 'primary'}
        onSend={reviewed === undefined ? review : publish}
        onCancel={onClose}
        isDeliberate
        obstacle={draftObstacle(draft) ?? (reviewed === undefined ? undefined : unsure)}
      >
        <HeadFields fields={fields} onChange={setFields} onVersion={rename} />
        <PaceFields pace={pace} onChange={setPace} />
        <PasteRelease onPasted={takeOver} />
        <ArtifactRows artifacts={artifacts} onChange={setArtifacts} />
        <details class="more" open={draft.labels.length + draft.expressions.length > 0}>
          <summary>Only for some devices</summary>
          <TargetingEditor draft={draft} onChange={setDraft} labels={labels.data} />
          {draftObstacle(draft) === undefined && (
            <MatchingDevices app={app.ref} channel={channel} targets={targetingOf(draft)} />
          )}
        </details>
        {reviewed !== undefined && <RehearsalView rehearsed={reviewed} isScrolledTo />}
        {reviewed !== undefined && question}
      </Form>
    </Dialog>
  );
}

/** Dry run of a release; what it said is forgotten as soon as the release is another one. */
function useReview(release: object) {
  const text = JSON.stringify(release);
  const [last, setLast] = useState<{ of: string; said: Rehearsed<UnpublishedRelease> }>();
  const review = async () => {
    setLast({ of: text, said: await call('POST', 'releases/rehearse', release) });
  };
  return { reviewed: last?.of === text ? last.said : undefined, review };
}

function HeadFields(props: {
  fields: Fields;
  onChange: (fields: Fields) => void;
  /** Called once the version was entered. */
  onVersion: () => void;
}) {
  const { fields, onChange, onVersion } = props;
  const set = (name: keyof Fields) => (value: string) => onChange({ ...fields, [name]: value });
  return (
    <>
      <div class="columns">
        <Field
          name="version"
          label="Version"
          value={fields.version}
          onInput={set('version')}
          onLeave={onVersion}
          placeholder="1.4.0"
          isRequired
          isFocused
          isCode
        />
      </div>
      <TextArea name="notes" label="Notes (Markdown)" value={fields.notes} onInput={set('notes')} />
    </>
  );
}
