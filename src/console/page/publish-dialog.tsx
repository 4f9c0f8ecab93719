// Dialog that publishes a release after a review of its findings and its effect, also as the next one after
// an existing release.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppOverview, ReleaseDetail, RenderedReleaseDetail } from '../../contract/console.ts';
import type { DryRunAnswer, UnpublishedRelease } from '../../contract/dry-run.ts';
import { ARTIFACT_FORMATS } from '../../domain/decision/artifact-format.ts';
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
import { Dialog } from '../part/dialog.tsx';
import { DryRunView, useConfirmedReach } from '../part/dry-run.tsx';
import { Field, TextArea } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { type PaceDraft, PaceFields, paceBody } from '../part/pace.tsx';
import { TargetingEditor } from '../part/targeting-editor.tsx';
import { MatchingDevices } from '../part/targeting-view.tsx';

type Fields = {
  readonly version: string;
  readonly notes: string;
};

/** Dialog for a new release; opens the release after publishing. Every change needs another review. */
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
  // Version in the URLs, which the entered version replaces.
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
        obstacle={draftObstacle(draft)?.reason ?? (reviewed === undefined ? undefined : unsure)}
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
        {reviewed !== undefined && <DryRunView dryRun={reviewed} isScrolledTo />}
        {reviewed !== undefined && question}
      </Form>
    </Dialog>
  );
}

/** Dry run of a release; its result is dropped when the release changes. */
function useReview(release: object) {
  const text = JSON.stringify(release);
  const [last, setLast] = useState<{ of: string; said: DryRunAnswer<UnpublishedRelease> }>();
  const review = async () => {
    setLast({ of: text, said: await call('POST', 'releases/rehearse', release) });
  };
  return { reviewed: last?.of === text ? last.said : undefined, review };
}

function HeadFields(props: {
  fields: Fields;
  onChange: (fields: Fields) => void;
  /** Called after a version was entered. */
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

const PLATFORMS = ['darwin', 'windows', 'linux'];
const ARCHES = ['universal', 'aarch64', 'x86_64', 'x86'];

/** Rows for artifacts, at least one; empty rows are ignored. */
function ArtifactRows(props: {
  artifacts: readonly ArtifactDraft[];
  onChange: (artifacts: readonly ArtifactDraft[]) => void;
}) {
  const { artifacts, onChange } = props;
  return (
    <fieldset>
      <legend>Artifacts</legend>
      {artifacts.map((artifact, index) => (
        <ArtifactRow
          key={index}
          number={index + 1}
          path={pathOf(artifacts, index)}
          artifact={artifact}
          onChange={(changed) => onChange(artifacts.with(index, changed))}
          onRemove={() => onChange(artifacts.toSpliced(index, 1))}
        />
      ))}
      <button
        type="button"
        class="button plain small"
        onClick={() => onChange([...artifacts, NEW_ARTIFACT])}
      >
        Add an artifact
      </button>
    </fieldset>
  );
}

function ArtifactRow(props: {
  number: number;
  /** Path of the artifact in the request; undefined for an empty row, which is not sent. */
  path: string | undefined;
  artifact: ArtifactDraft;
  onChange: (artifact: ArtifactDraft) => void;
  onRemove: () => void;
}) {
  const { number, path, artifact, onChange, onRemove } = props;
  const field = (name: keyof ArtifactDraft) => ({
    name: path === undefined ? undefined : `${path}.${name}`,
    value: artifact[name],
    onInput: (value: string) => onChange({ ...artifact, [name]: value }),
  });
  return (
    <div class="artifact-row">
      <div class="columns">
        <Field label="Platform" options={PLATFORMS} placeholder="darwin" {...field('platform')} />
        <Field label="Architecture" options={ARCHES} placeholder="any" {...field('arch')} />
        <Field
          label="Format"
          options={ARTIFACT_FORMATS}
          placeholder="as the URL ends"
          {...field('format')}
        />
        <Field label="Size (bytes)" {...field('size')} />
      </div>
      <Field label="URL" placeholder="https://…" isCode {...field('url')} />
      <div class="columns">
        <Field label="Signature" isCode {...field('signature')} />
        <Field label="SHA-512" isCode {...field('sha512')} />
      </div>
      <button
        type="button"
        class="icon-button"
        aria-label={`Remove artifact ${number}`}
        onClick={onRemove}
      >
        ×
      </button>
    </div>
  );
}

function pathOf(artifacts: readonly ArtifactDraft[], index: number): string | undefined {
  const isSent = artifacts.map((artifact) => artifactOf(artifact) !== undefined);
  if (isSent[index] !== true) return undefined;
  return `artifacts.${isSent.slice(0, index).filter(Boolean).length}`;
}

/** Text area and button for pasted releases; the code is loaded on first use. */
function PasteRelease({ onPasted }: { onPasted: (pasted: PastedRelease) => void }) {
  const [text, setText] = useState('');
  const [fault, setFault] = useState<string>();
  const take = async () => {
    const { readPasted } = await import('../format/pasted-release.ts');
    const pasted = readPasted(text);
    setFault(typeof pasted === 'string' ? pasted : undefined);
    if (typeof pasted === 'string') return;
    setText('');
    onPasted(pasted);
  };
  return (
    <details class="more">
      <summary>Paste addresses or JSON</summary>
      <TextArea
        label="Addresses of the files, one a line, or the release as JSON"
        value={text}
        onInput={setText}
        placeholder="https://…"
        hint="The names of the files tell what they are for. It takes the place of the artifacts below."
      />
      {fault !== undefined && (
        <p class="bad-text" role="alert">
          {fault}
        </p>
      )}
      <button type="button" class="button plain small" onClick={() => void take()}>
        Use these files
      </button>
    </details>
  );
}
