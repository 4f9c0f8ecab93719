// Fields that say how fast a new release goes out.

import { PACES, type PaceDraft, paceHint } from '../format/pace.ts';
import { Choice } from './choice.tsx';
import { Field } from './field.tsx';

/** Choice of the pace, with the share where it has one. */
export function PaceFields(props: {
  pace: PaceDraft;
  onChange: (pace: PaceDraft) => void;
  /** Share that is taken where none is entered; undefined when one is required. */
  placeholder?: string;
}) {
  const { pace, onChange, placeholder } = props;
  const hasShare = pace.kind === 'share' || pace.kind === 'paused';
  return (
    <div class="columns">
      <Choice
        label="How fast"
        value={pace.kind}
        options={PACES}
        onChoose={(kind) => onChange({ ...pace, kind })}
        hint={paceHint(pace)}
      />
      {hasShare && (
        <Field
          name="rollout"
          label={pace.kind === 'paused' ? 'Share once resumed (%)' : 'Share (%)'}
          type="number"
          min={0}
          max={100}
          value={pace.rollout}
          onInput={(rollout) => onChange({ ...pace, rollout })}
          isRequired={placeholder === undefined}
          {...(placeholder === undefined ? {} : { placeholder })}
        />
      )}
    </div>
  );
}
