// Select for one of a few values.

import type { ComponentChildren } from 'preact';
import { LabelledControl } from './labelled-control.tsx';

export type Option<Value extends string> = { readonly value: Value; readonly label: string };

/** Select with a label. */
export function Choice<Value extends string>(props: {
  label: string;
  value: Value;
  options: readonly Option<Value>[];
  onChoose: (value: Value) => void;
  hint?: ComponentChildren;
  isLabelHidden?: boolean;
}) {
  const { label, value, options, onChoose, hint, isLabelHidden = false } = props;
  return (
    <LabelledControl label={label} hint={hint} isLabelHidden={isLabelHidden}>
      {(id, hintId) => (
        <select
          id={id}
          value={value}
          aria-describedby={hintId}
          onChange={(event) => {
            const chosen = event.currentTarget.value as Value;
            // Always shows the actual value, because a chosen one may be refused.
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
      )}
    </LabelledControl>
  );
}
