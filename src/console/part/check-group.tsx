// Group of checkboxes for some of a few values.

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Option } from './choice.tsx';

/** Checkboxes under one label; `values` are the checked ones, in the order of `options`. */
export function CheckGroup<Value extends string>(props: {
  label: string;
  values: readonly Value[];
  options: readonly Option<Value>[];
  onChange: (values: readonly Value[]) => void;
  hint?: ComponentChildren;
}) {
  const { label, values, options, onChange, hint } = props;
  const hintId = useId();
  const toggle = (toggled: Value) =>
    onChange(
      options
        .map(({ value }) => value)
        .filter((value) => (value === toggled) !== values.includes(value)),
    );
  return (
    <fieldset class="checks" aria-describedby={hint === undefined ? undefined : hintId}>
      <legend>{label}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="checkbox"
            checked={values.includes(option.value)}
            onChange={() => toggle(option.value)}
          />{' '}
          {option.label}
        </label>
      ))}
      {hint !== undefined && (
        <p class="hint" id={hintId}>
          {hint}
        </p>
      )}
    </fieldset>
  );
}
