// One of a few values, chosen from a list.

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

export type Option<Value extends string> = { readonly value: Value; readonly label: string };

/** A labelled list of values. */
export function Choice<Value extends string>(props: {
  label: string;
  value: Value;
  options: readonly Option<Value>[];
  onChoose: (value: Value) => void;
  hint?: ComponentChildren;
  isLabelHidden?: boolean;
}) {
  const { label, value, options, onChoose, hint, isLabelHidden = false } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id} class={isLabelHidden ? 'unseen' : ''}>
        {label}
      </label>
      <select
        id={id}
        value={value}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => {
          const chosen = event.currentTarget.value as Value;
          // Shows what is so; what was chosen may be refused.
          event.currentTarget.value = value;
          onChoose(chosen);
        }}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
