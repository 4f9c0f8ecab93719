// Fields of a webhook's settings.

import type { WebhookDraft } from '../format/webhook.ts';
import { ChipsInput } from '../part/chips-input.tsx';
import { Choice, Field } from '../part/field.tsx';

const LANDINGS = [
  { value: 'offered', label: 'Offer them at once' },
  { value: 'by-hand', label: 'Hold them until somebody publishes them' },
  { value: 'expecting', label: 'Hold them until their files are there' },
] as const;

/** Targets that are suggested; any other may be typed. */
const TARGETS = [
  ...['darwin', 'darwin/aarch64', 'darwin/x86_64', 'linux', 'linux/aarch64', 'linux/x86_64'],
  ...['windows', 'windows/aarch64', 'windows/x86_64'],
];

/** Fields for a draft. */
export function WebhookFields(props: {
  draft: WebhookDraft;
  onChange: (draft: WebhookDraft) => void;
}) {
  const { draft, onChange } = props;
  return (
    <>
      <Field
        name="tagPrefix"
        label="Prefix of the tags"
        value={draft.tagPrefix}
        onInput={(tagPrefix) => onChange({ ...draft, tagPrefix })}
        placeholder="none"
        maxLength={100}
        hint="Where a repository has several apps: desk- for tags such as desk-1.4.0."
        isCode
      />
      <Choice
        label="New releases"
        value={draft.landing}
        options={LANDINGS}
        onChoose={(landing) => onChange({ ...draft, landing })}
        hint="A held release takes files until it is first published."
      />
      {draft.landing === 'expecting' && (
        <fieldset>
          <legend>Files for</legend>
          <ChipsInput
            label="Add a platform"
            values={draft.expect}
            options={TARGETS}
            placeholder="darwin/aarch64"
            onChange={(expect) => onChange({ ...draft, expect })}
          />
        </fieldset>
      )}
    </>
  );
}
