// Input for a few values: each is a removable chip, and a text field adds another.

import { useId, useState } from 'preact/hooks';
import { Suggestions } from './field.tsx';

/** Input of several values. Values in `locked` cannot be removed; `options` are suggestions. */
export function ChipsInput(props: {
  label: string;
  values: readonly string[];
  onChange: (values: readonly string[]) => void;
  options?: readonly string[];
  locked?: readonly string[];
  isDisabled?: boolean;
  placeholder?: string | undefined;
}) {
  const { label, values, onChange, options = [], locked = [], isDisabled = false } = props;
  const { placeholder = values.length === 0 ? 'Add a value' : 'or …' } = props;
  return (
    <div class="chips row tight">
      {values.map((value) => (
        <span class="chip line tight small" key={value}>
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
        <ValueInput
          label={label}
          placeholder={placeholder}
          options={options.filter((option) => !values.includes(option))}
          onAdd={(value) => {
            if (!values.includes(value)) onChange([...values, value]);
          }}
        />
      )}
    </div>
  );
}

/** Text field that adds a value with Enter, a comma, on blur, or at once when an option is picked. */
function ValueInput(props: {
  label: string;
  placeholder: string;
  options: readonly string[];
  onAdd: (value: string) => void;
}) {
  const { label, placeholder, options, onAdd } = props;
  const [text, setText] = useState('');
  const id = useId();
  const add = (value: string) => {
    setText('');
    if (value.trim() !== '') onAdd(value.trim());
  };
  return (
    <>
      <input
        aria-label={label}
        list={id}
        value={text}
        placeholder={placeholder}
        dir="auto"
        onInput={(event) => {
          const { value } = event.currentTarget;
          if (isPicked(event) && options.includes(value)) add(value);
          else setText(value);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' && event.key !== ',') return;
          // Must not submit the form, because more values may follow.
          event.preventDefault();
          add(text);
        }}
        onBlur={() => add(text)}
      />
      <Suggestions id={id} options={options} />
    </>
  );
}

/** Returns whether an option was picked. A typed one may be the beginning of another (`beta`, `beta-2`). */
function isPicked(event: Event): boolean {
  return !(event instanceof InputEvent) || event.inputType === 'insertReplacementText';
}
