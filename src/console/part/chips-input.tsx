// A handful of values: each a chip that can be taken away, and a line to add another.

import { useId, useState } from 'preact/hooks';

/** `locked` values stay; `options` are suggested. A value is added with Enter, a comma, or on leaving. */
export function ChipsInput(props: {
  label: string;
  values: readonly string[];
  onChange: (values: readonly string[]) => void;
  options?: readonly string[];
  locked?: readonly string[];
  isDisabled?: boolean;
}) {
  const { label, values, onChange, options = [], locked = [], isDisabled = false } = props;
  const [text, setText] = useState('');
  const id = useId();
  const add = (value: string) => {
    const added = value.trim();
    setText('');
    if (added !== '' && !values.includes(added)) onChange([...values, added]);
  };
  return (
    <div class="chips">
      {values.map((value) => (
        <span class="chip" key={value}>
          <bdi dir="auto">{value === '' ? '(empty)' : value}</bdi>
          {!isDisabled && !locked.includes(value) && (
            <button
              type="button"
              aria-label={`Remove ${value}`}
              onClick={() => onChange(values.filter((other) => other !== value))}
            >
              ×
            </button>
          )}
        </span>
      ))}
      {!isDisabled && (
        <input
          aria-label={label}
          list={`${id}-options`}
          value={text}
          placeholder={values.length === 0 ? 'Add a value' : 'or …'}
          dir="auto"
          onInput={(event) => {
            const { value } = event.currentTarget;
            if (options.includes(value)) add(value);
            else setText(value);
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' && event.key !== ',') return;
            // Never sends the form: who adds values has not finished.
            event.preventDefault();
            add(text);
          }}
          onBlur={() => add(text)}
        />
      )}
      <datalist id={`${id}-options`}>
        {options
          .filter((option) => !values.includes(option))
          .map((option) => (
            <option key={option} value={option} />
          ))}
      </datalist>
    </div>
  );
}
